// coterie model compare: its grammar.
#include <memory>

#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/model_compare.h"
#include "tools/data/load.h"

namespace coterie {
namespace {

constexpr uint32_t kExamplesMax = 65536;

}  // namespace

void add_compare_models(CLI::App& model, Invocation& invocation) {
  CLI::App* compare = add_command(model, "compare", "two models tensor by tensor, and where they first differ",
                                  "  coterie model compare mine.cotf reference.cotf --data mnist:DIR\n"
                                  "  coterie model compare mine.cotf reference.cotf --html differences.html\n"
                                  "  coterie model compare net_fp16.onnx net.onnx --inputs digits.npz\n"
                                  "  coterie model compare mine.npz reference.pt --tolerance 1e-3 --json\n\n"
                                  "Exit code 0: everything agrees; 1: something does not.");
  const auto options = std::make_shared<CompareModelsOptions>();
  compare
      ->add_option("A", options->a,
                   "model file, graph (.onnx, .tflite, .ms), or arrays: .npy, .npz, .pt, .safetensors, .ckpt")
      ->required()
      ->type_name("");
  compare->add_option("B", options->b, "likewise: the reference")->required()->type_name("");
  compare
      ->add_option("--data", options->data,
                   std::string("inputs of models: a data set file, ") + kDataNames + " (default: random numbers)")
      ->type_name("DATA");
  compare
      ->add_option(
          "--inputs", options->inputs,
          "inputs where a graph is compared: arrays by its inputs' names, .npz or .npy (default: random numbers)")
      ->type_name("FILE");
  compare->add_option("--seed", options->seed, "of a graph's random inputs")->capture_default_str();
  compare->add_option("--examples", options->examples, "the first so many of the data, or so many random ones")
      ->capture_default_str()
      ->check(between<uint32_t>(1, kExamplesMax));
  compare
      ->add_option("--tolerance", options->tolerance, "how far an element may be off, of the reference's largest value")
      ->default_str("0.0001")
      ->type_name("X")
      ->check(between<double>(0, 1));
  compare->add_option("--html", options->page, "write a page with scatter plots and histograms, too")
      ->type_name("FILE");
  compare->add_flag("--json", options->as_json, "print the result as JSON");
  compare->callback([&invocation, options] { invocation.run = [options] { return compare_models(*options); }; });
}

}  // namespace coterie
