// Any bytes as an input of `model run`, in each form that a graph may declare: an error, or an array that holds as many
// elements as its shape has.
#include "base/assert.h"
#include "model_import/interpret/array.h"
#include "model_import/onnx/read_onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  using model_import::Form;
  for (const Form form : {Form::tensor, Form::sequence, Form::optional}) {
    const Result<model_import::HostValue> value = model_import::read_onnx_value({data, size}, form);
    if (!value) {
      COT_ASSERT(value.error().code() != ErrorCode::internal);
      continue;
    }
    const Result<model_import::Array> array = model_import::array_of(*value);
    if (!array) {
      COT_ASSERT(array.error().code() != ErrorCode::internal);
      continue;
    }
    if (array->form != Form::tensor) continue;
    uint64_t elements = 1;
    for (const int64_t dimension : array->shape) elements *= static_cast<uint64_t>(dimension);
    COT_ASSERT(array->values.size() == elements);
  }
  return 0;
}
