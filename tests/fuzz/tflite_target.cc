// Any bytes as a TFLite model: an error, or a model file that decodes; and what can be read can be computed, or says
// why not.
#include "base/assert.h"
#include "device_sdk/runtime/int8/int8_model.h"
#include "model_import/tflite/import_tflite.h"
#include "model_import/tflite/read_tflite.h"
#include "model_import/tflite_reference/run_tflite.h"
#include "proto/codec/codec.h"

namespace {

constexpr int64_t kElementsMax = 1 << 12;  // of any tensor that is computed: larger ones only cost time

bool is_small(const coterie::model_import::TfliteModel& model) {
  int64_t sum = 0;
  for (const auto& tensor : model.tensors) {
    int64_t size = 1;
    for (const int64_t dimension : tensor.shape) size *= dimension;
    sum += size;
    if (size > kElementsMax || sum > 4 * kElementsMax) return false;
  }
  for (const auto& op : model.operators) {
    const auto& o = op.options;
    if (o.filter_h > 64 || o.filter_w > 64) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  using namespace coterie::model_import;
  const Result<TfliteModel> model = read_tflite({data, size});
  if (!model) {
    COT_ASSERT(model.error().code() != ErrorCode::internal);
    return 0;
  }
  const Result<ImportedTflite> import = import_tflite(*model);
  if (import && import->numbers == TfliteNumbers::qdq) COT_ASSERT(open_int8_model(import->imported.model).has_value());
  else if (import) COT_ASSERT(decode_model(import->imported.model).has_value());
  else COT_ASSERT(import.error().code() != ErrorCode::internal);
  if (!is_small(*model)) return 0;
  std::vector<TfliteArray> inputs;
  for (const int32_t input : model->inputs) inputs.push_back(*zeros_of(model->tensor(input)));
  const auto outputs = run_tflite(*model, inputs);
  COT_ASSERT(outputs.has_value() || outputs.error().code() != ErrorCode::internal);
  return 0;
}
