// coterie model convert, coterie model export: models of other programs on this machine. In a build without ONNX both
// are no_onnx_commands.cc, which only says so.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "device_sdk/runtime/optimisation.h"
#include "tools/cli/exit_code.h"

namespace coterie {

struct ConvertOptions {
  std::string from, to;
  std::map<std::string, int64_t> dimensions;
  std::string output;                             // of the file's outputs; empty: its first
  std::vector<std::string> further_outputs = {};  // patterns: beside it
  std::vector<std::string> constant, trainable;   // patterns of names: import_graph.h
  Optimisation level = Optimisation::none;        // of the passes that leave training as it is
  bool verifies = false;
  bool as_json = false;
};
// ONNX, TFLite or MindSpore Lite, as the bytes say. Prints layers, parameters and the memory of inference and
// training at batch 1, 8 and 32; with --verify what the model computes beside an interpreter of the graph
// (conversion_check.h), a TFLite file itself (tflite_conversion.h), the reference kernels, and the stored test data
// beside an ONNX file; of what computes in int8 the first two alone (int8_conversion.h). A difference above those
// limits is a failure, and so is a graph that the interpreter does not know: the file is written all the same.
ExitCode convert_model(const ConvertOptions& options);

struct ExportOptions {
  std::string from, to;
};
ExitCode export_model(const ExportOptions& options);

// Whether the file is a model of another program: its name ends with .onnx, or its bytes say TFLite or
// MindSpore Lite.
bool is_foreign_model(const std::string& path);
// The model file that such a one becomes, as model convert makes it without options. Errors name the file.
Result<Bytes> model_from_foreign(const std::string& path);

}  // namespace coterie
