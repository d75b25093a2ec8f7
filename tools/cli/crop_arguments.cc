// coterie model crop: its grammar.
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/model_crop.h"

namespace coterie {
namespace {

template <typename Kind, typename From>
CLI::Option* add_kinds(CLI::App* command, const char* option, std::set<Kind>& kinds, From from, const char* what) {
  return command
      ->add_option_function<std::vector<std::string>>(
          option,
          [&kinds, from](const std::vector<std::string>& names) {
            for (const std::string& name : names) kinds.insert(*from(name));
          },
          what)
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(
          CLI::Validator([from](std::string& name) { return from(name) ? std::string() : "there is no " + name; }, ""));
}

}  // namespace

void add_crop(CLI::App& model, Invocation& invocation) {
  CLI::App* command = add_command(model, "crop", "list the ops that models need, for a build that has no others",
                                  "  coterie model crop net.cotf other.onnx --plan job.json -o ops.txt\n"
                                  "  coterie model crop net.cotf -o ops.txt --build build/small --source .\n"
                                  "  coterie model crop new.cotf --check ops.txt\n\n"
                                  "A build with -DCOTERIE_OPS_FROM=ops.txt has these ops alone. --build makes\n"
                                  "the smallest client that trains, and tells what it weighs part by part.\n");
  const auto options = std::make_shared<ModelCropOptions>();
  command->add_option("MODEL", options->models, "model files, ONNX, TFLite or .ms models")->required()->type_name("");
  command->add_option("--plan", options->plans, "a job's file: its loss and its optimizer; may be given again")
      ->type_name("JOB.json")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_kinds<Loss>(command, "--loss", options->losses, loss_from, "a loss that is trained with; may be given again");
  add_kinds<OptimizerKind>(command, "--optimizer", options->optimizers, optimizer_from,
                           "an optimizer beside sgd; may be given again");
  add_kinds<BuildFeature>(command, "--without", options->without, build_feature_from,
                          "augmentation, avx2, avx512, bf16, channels, delegates, early_stopping, "
                          "encryption, heads, joined_steps, loss_scaling, memory_limit, qat, "
                          "soft_labels, threads or waves; may be given again");
  command->add_flag("--smallest", options->is_smallest, "--without each of them that no --plan asks for");
  CLI::Option* file = command->add_option("-o,--file", options->to, "where to write the list (default: it is printed)")
                          ->type_name("FILE");
  CLI::Option* build =
      command->add_option("--build", options->build_folder, "build a client from the list here: minutes, with clang 16")
          ->type_name("DIR")
          ->needs(file);
  command->add_option("--source", options->source, "source tree to build from")
      ->capture_default_str()
      ->type_name("DIR")
      ->needs(build);
  CLI::Option* check =
      command->add_option("--check", options->check, "write none; say what this list lacks, exit status 1 if it does")
          ->type_name("LIST")
          ->excludes(file);
  command->add_flag("--json", options->as_json, "print JSON")->excludes(check);
  command->callback([&invocation, options] { invocation.run = [options] { return crop_models(*options); }; });
}

}  // namespace coterie
