// Any bytes as an ONNX model: an error, or a model file that decodes.
#include "base/assert.h"
#include "model_import/onnx/import_onnx.h"
#include "proto/codec/codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  const Result<model_import::ImportedModel> import =
      model_import::import_onnx({data, size}, {.dimensions = {{"length", 3}}, .output = {}});
  if (!import) {
    COT_ASSERT(import.error().code() != ErrorCode::internal);
    return 0;
  }
  COT_ASSERT(decode_model(import->model).has_value());
  return 0;
}
