// coterie model load-weights: its grammar.
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/model_weights.h"

namespace coterie {
namespace {

using model_import::RowOrder;
using model_import::WeightLayout;

void add_patterns(CLI::App* command, const char* option, std::vector<std::string>& patterns, const char* what) {
  command->add_option(option, patterns, what)
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

void add_weights(CLI::App& model, Invocation& invocation) {
  CLI::App* command =
      add_command(model, "load-weights", "put weights of PyTorch, safetensors, MindSpore or NumPy into a model",
                  "  coterie model load-weights net.onnx net.pt -o net.cotf\n"
                  "  coterie model load-weights net.cotf w.safetensors -o new.cotf \\\n"
                  "      --map 'blocks.*.w=layers.*.weight' --keep 'head.*'\n"
                  "  coterie model load-weights net.onnx net.ckpt -o net.cotf \\\n"
                  "      --check outputs.npz   # numpy.savez(FILE, input=x, output=y)\n\n"
                  "A state dict of PyTorch (.pt, .pth), .safetensors, .ckpt or .npz. The report\n"
                  "says which tensor became which; nothing is written if one is in doubt.\n");
  const auto options = std::make_shared<LoadWeightsOptions>();
  command->add_option("GRAPH", options->graph, "model file, or a model of ONNX, TFLite or MindSpore Lite")
      ->required()
      ->type_name("");
  command->add_option("WEIGHTS", options->weights, "file of weights; the format is seen")->required()->type_name("");
  command->add_option("-o,--file", options->to, "where to write the model file")->required()->type_name("FILE");
  command
      ->add_option("--map", options->maps,
                   "TENSOR=TENSOR: one of the model and one of the file, * for any part of a name, or a file of such "
                   "lines; may be given again")
      ->type_name("RULE|FILE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_patterns(command, "--keep", options->mapping.keep,
               "tensors of the model that keep their values, as a new head does");
  add_patterns(command, "--ignore", options->mapping.ignore, "tensors of the file that are not needed");
  command
      ->add_option_function<std::string>(
          "--layout",
          [options](const std::string& word) {
            options->mapping.layout = word == "out-first" ? WeightLayout::out_first : WeightLayout::in_first;
          },
          "how square weights lie: out-first (PyTorch, MindSpore) or in-first (Keras, Flax); default: as the others do")
      ->check(one_of({"out-first", "in-first"}));
  command
      ->add_option_function<std::string>(
          "--rows",
          [options](const std::string& word) {
            options->rows = word == "as-graph" ? RowOrder::as_graph : RowOrder::channels_first;
          },
          "how the rows of a linear layer behind a flattened image lie: channels-first (PyTorch, MindSpore) or "
          "as-graph; default: channels-first, and of an ONNX graph that flattens otherwise it must be said")
      ->check(one_of({"channels-first", "as-graph"}));
  command->add_option("--part", options->part, "of a checkpoint with several: model_state_dict")->type_name("KEY");
  command
      ->add_option("--norm-epsilon", options->mapping.norm_epsilon,
                   "of batch norms that the graph has in its layers and the file has apart")
      ->capture_default_str()
      ->check(between(0.0, 1.0));
  command->add_option("--check", options->check, ".npz with inputs and the output that is expected of them")
      ->type_name("FILE");
  command->add_option("--check-max", options->difference_max, "difference allowed there, of the largest value")
      ->capture_default_str()
      ->check(between(0.0, 1e6));
  command->add_flag("--json", options->as_json, "print JSON");
  command->callback([&invocation, options] { invocation.run = [options] { return load_weights(*options); }; });
}

}  // namespace coterie
