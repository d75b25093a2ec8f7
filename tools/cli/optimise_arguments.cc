// coterie model optimise: its grammar, and the option of a level for other commands.
#include "tools/cli/optimise_arguments.h"

#include "device_sdk/runtime/parse_optimisation.h"
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/model_optimise.h"

namespace coterie {

CLI::Option* add_optimisation(CLI::App* command, Optimisation& level, const std::string& what) {
  return command
      ->add_option_function<std::string>(
          "--optimise", [&level](const std::string& text) { level = parse_optimisation(text).value(); }, what)
      ->type_name("LEVEL")
      ->default_str(std::to_string(static_cast<int>(level)))
      ->check(checked_by(&parse_optimisation));
}

void add_optimise(CLI::App& model, Invocation& invocation) {
  CLI::App* command = add_command(model, "optimise", "rewrite a model's graph: fewer ops, the same function",
                                  "  coterie model optimise net.cotf -o fast.cotf\n"
                                  "  coterie model optimise net.cotf -o fast.cotf --optimise 1\n"
                                  "  coterie model optimise net.cotf -o net2.cotf --trainable\n\n"
                                  "Levels: 0 nothing; 1 the same bits; 2 the same but for rounding; 3 the\n"
                                  "same in exact arithmetic. docs/MODELS.md has the passes of each.\n");
  const auto options = std::make_shared<ModelOptimiseOptions>();
  command->add_option("FILE", options->from, "model file")->required()->type_name("");
  command->add_option("-o,--file", options->to, "where to write it")->required()->type_name("FILE");
  add_optimisation(command, options->level, "which passes: 0 to 3");
  command->add_flag("--trainable", options->is_trainable,
                    "the file will be trained: norms, dropout and parameters stay as they are");
  command->add_flag("--json", options->as_json, "print JSON");
  command->callback([&invocation, options] { invocation.run = [options] { return optimise_model(*options); }; });
}

}  // namespace coterie
