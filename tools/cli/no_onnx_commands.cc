// In a build without ONNX (-DCOTERIE_BUILD_ONNX=OFF, as ./quickstart makes it): the commands are known and say where
// they are.
#include <cstdio>

#include "tools/cli/graph_comparison.h"
#include "tools/cli/model_run.h"
#include "tools/cli/onnx_commands.h"

namespace coterie {
namespace {

ExitCode not_in_this_build(const char* command) {
  std::fprintf(stderr,
               "coterie model %s: this build has no ONNX. A build that has it: cmake --preset release && "
               "cmake --build --preset release --target coterie_cli\n",
               command);
  return ExitCode::failure;
}

}  // namespace

ExitCode convert_model(const ConvertOptions&) { return not_in_this_build("convert"); }

ExitCode export_model(const ExportOptions&) { return not_in_this_build("export"); }

ExitCode run_model_graph(const ModelRunOptions&) { return not_in_this_build("run"); }

bool is_foreign_model(const std::string& path) {
  return path.ends_with(".onnx") || path.ends_with(".tflite") || path.ends_with(".ms");
}

Result<TensorComparison> compare_graphs(const CompareModelsOptions&) {
  return Error(ErrorCode::invalid_argument,
               "this build has no ONNX: it compares model files (.cotf) and files of arrays");
}

Result<Bytes> model_from_foreign(const std::string& path) {
  return Error(ErrorCode::invalid_argument, path +
                                                ": this build has no ONNX; one that has it makes a model file of it: "
                                                "coterie model convert");
}

}  // namespace coterie
