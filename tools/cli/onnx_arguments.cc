// coterie model convert, coterie model run: their grammar.
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/model_run.h"
#include "tools/cli/onnx_commands.h"
#include "tools/cli/optimise_arguments.h"

namespace coterie {
namespace {

// "seq=64"
CLI::Validator dimension_binding() {
  return CLI::Validator(
      [](std::string& text) {
        const size_t equals = text.rfind('=');
        const std::string size = equals == std::string::npos ? "" : text.substr(equals + 1);
        const bool is_number =
            !size.empty() && size.size() <= 9 && size.find_first_not_of("0123456789") == std::string::npos;
        return equals != 0 && is_number && size != "0" ? std::string()
                                                       : "must be name=size, for example seq=64, is " + text;
      },
      "");
}

void add_convert(CLI::App& model, Invocation& invocation) {
  CLI::App* convert = add_command(model, "convert", "make a model file of an ONNX, TFLite or MindSpore Lite model",
                                  "  coterie model convert net.onnx -o net.cotf --verify\n"
                                  "  coterie model convert net.tflite -o net.cotf --verify\n"
                                  "  coterie model convert net.ms -o net.cotf\n"
                                  "  coterie model convert bert.onnx -o bert.cotf --dim seq=64\n");
  const auto options = std::make_shared<ConvertOptions>();
  const auto dimensions = std::make_shared<std::vector<std::string>>();
  convert->add_option("FILE", options->from, "ONNX (opset 1 to 22), TFLite or .ms model; the format is seen")
      ->required()
      ->type_name("");
  convert->add_option("-o,--file", options->to, "where to write the model file")->required()->type_name("FILE");
  convert->add_option("--dim", *dimensions, "size of a dimension that the model leaves open; may be given again")
      ->type_name("NAME=SIZE")
      ->check(dimension_binding())
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  convert->add_option("--onnx-output", options->output, "which output the model computes (default: the first)")
      ->type_name("NAME");
  convert
      ->add_option("--further-output", options->further_outputs,
                   "outputs that the model has beside it, for trainings with several losses; may be given again")
      ->type_name("PATTERN")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  convert->add_option("--constant", options->constant, "tables that are not trained; may be given again")
      ->type_name("PATTERN")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  convert
      ->add_option("--trainable", options->trainable,
                   "operands of arithmetic that are trained, whatever else would be decided; may be given again")
      ->type_name("PATTERN")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_optimisation(convert, options->level,
                   "rewrite the graph by the passes of this level that leave training as it is");
  convert->add_flag(
      "--verify", options->verifies,
      "hold the model file against an interpreter of the graph on random inputs, against a TFLite file itself, "
      "and against the framework's own outputs (test_data_set_0 beside an ONNX file, of a network in "
      "float32); exit status 1 "
      "where they differ, or where the interpreter does not know an operator");
  convert->add_flag("--json", options->as_json, "print JSON");
  convert->callback([&invocation, options, dimensions] {
    for (const std::string& binding : *dimensions) {
      const size_t equals = binding.rfind('=');
      options->dimensions[binding.substr(0, equals)] = std::stoll(binding.substr(equals + 1));
    }
    invocation.run = [options] { return convert_model(*options); };
  });
}

void add_run(CLI::App& model, Invocation& invocation) {
  CLI::App* run = add_command(model, "run", "compute an ONNX graph as it stands, converted or not",
                              "  coterie model run net.onnx --input input_0.pb\n"
                              "  coterie model run net.onnx --input image.pb --input size.pb --json\n");
  const auto options = std::make_shared<ModelRunOptions>();
  run->add_option("FILE", options->from, "ONNX model")->required()->type_name("");
  run->add_option("--input", options->inputs, "tensor (TensorProto) of the graph's next input; may be given again")
      ->type_name("FILE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  run->add_flag("--json", options->as_json, "print JSON, with all values");
  run->callback([&invocation, options] { invocation.run = [options] { return run_model_graph(*options); }; });
}

}  // namespace

void add_onnx(CLI::App& model, Invocation& invocation) {
  add_convert(model, invocation);
  add_run(model, invocation);
}

}  // namespace coterie
