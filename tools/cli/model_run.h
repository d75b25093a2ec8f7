// coterie model run: an ONNX graph computed by the interpreter. In a build without ONNX: no_onnx_commands.cc.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/exit_code.h"

namespace coterie {

struct ModelRunOptions {
  std::string from;
  std::vector<std::string> inputs;  // TensorProto files, in the order of the graph's inputs
  bool as_json = false;
};

// Prints each output: its name, type and shape, and its first values; as JSON all of them.
ExitCode run_model_graph(const ModelRunOptions& options);

}  // namespace coterie
