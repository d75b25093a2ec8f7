// coterie model narrow: its grammar.
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/model_narrow.h"

namespace coterie {

void add_narrow(CLI::App& model, Invocation& invocation) {
  CLI::App* command = add_command(model, "narrow", "the model of a device of less width, cut out of a whole one",
                                  "  coterie model narrow trained.cotf --width 0.25 -o small.cotf\n\n"
                                  "Of each hidden layer the first channels are left, as in a job with\n"
                                  "training.widths. A model that was not trained so is worth little then.");
  const auto options = std::make_shared<ModelNarrowOptions>();
  command->add_option("FILE", options->from, "model file")->required()->type_name("");
  command
      ->add_option_function<double>(
          "--width", [options](const double& share) { options->width = width_of(share).value(); },
          "share of the channels that is left")
      ->required()
      ->check(between(1e-6, 1.0));
  command->add_option("-o,--file", options->to, "where to write it")->required()->type_name("FILE");
  command->callback([&invocation, options] { invocation.run = [options] { return write_narrow(*options); }; });
}

}  // namespace coterie
