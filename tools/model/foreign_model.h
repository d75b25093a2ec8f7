// A model of another program, whatever its format: the bytes say which it is, not the file's name.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "model_import/convert/import_graph.h"
#include "model_import/graph/graph.h"
#include "model_import/mslite/mslite_model.h"
#include "model_import/tflite/tflite_model.h"

namespace coterie {

inline constexpr uint64_t kForeignFileBytesMax = (1ull << 31) - 1;  // that of all formats

struct ForeignModel {
  const char* format = "ONNX";  // for messages
  model_import::ImportedModel imported;
  std::optional<model_import::TfliteModel> tflite;  // of a file of that format
  std::optional<model_import::MsliteModel> mslite;  // of one of MindSpore Lite
  bool is_int8 = false;                             // the model computes in int8
  bool is_dequantised = false;                      // the file computes in integers, the model in float32
};

// Errors: those of import_onnx, of read_tflite and import_tflite, or of read_mslite and import_mslite.
Result<ForeignModel> import_foreign(ByteView file, const model_import::ImportOptions& options = {});

// The graph of a file of any of the formats, as it computes. Errors: those of the reader.
Result<model_import::Graph> read_foreign_graph(ByteView file);

// The graph that it was made of, with one output. Errors: those of the reader.
Result<model_import::Graph> graph_of(const ForeignModel& model, ByteView file, const std::string& output);

}  // namespace coterie
