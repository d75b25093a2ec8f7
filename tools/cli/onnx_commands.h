// coterie model convert, coterie model export: ONNX on this machine. In a build without ONNX both are
// no_onnx_commands.cc, which only says so.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/cli/exit_code.h"

namespace coterie {

struct ConvertOptions {
  std::string from, to;
  std::map<std::string, int64_t> dimensions;
  std::string output;                            // of the ONNX model; empty: its first
  std::vector<std::string> constant, trainable;  // patterns of names: import_graph.h
  bool verifies = false;
  bool as_json = false;
};
// Prints layers, parameters and the memory of inference and training at batch 1, 8 and 32; with --verify what
// the model computes beside an interpreter of the ONNX graph (conversion_check.h), the reference kernels, and the
// stored test data beside the ONNX file; of a QDQ graph the first alone (int8_conversion.h). A difference above those
// limits is a failure, and so is a graph that the interpreter does not know: the file is written all the same.
ExitCode convert_model(const ConvertOptions& options);

struct ExportOptions {
  std::string from, to;
};
ExitCode export_model(const ExportOptions& options);

// The model file that an ONNX file becomes, as model convert makes it without options. Errors name the file.
Result<Bytes> model_from_onnx(const std::string& path);

}  // namespace coterie
