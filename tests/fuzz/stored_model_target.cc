// Any bytes as a model file with weights as int8 or packed: an error, the float32 file that it stands for, or a network
// in int8 that answers.
#include "base/assert.h"
#include "device_sdk/runtime/int8/int8_model.h"
#include "device_sdk/runtime/int8/int8_predictor.h"
#include "device_sdk/runtime/stored_model_file.h"
#include "proto/codec/codec.h"
#include "tests/support/frame_repair.h"

namespace {
constexpr uint64_t kElementsMax = 1 << 20;
constexpr double kFlopsMax = 1e7;
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  const Bytes file = test::with_true_sizes({data, size}, FrameKind::model);
  if (computes_in_int8(file)) {
    if (const Result<Int8Model> opened = open_int8_model(file)) {
      const uint64_t inputs = opened->program.values[0].elements;
      const uint64_t outputs = opened->program.values[opened->program.output].elements;
      if (inputs <= kElementsMax && opened->exact.flops() <= kFlopsMax) {
        std::vector<float> answer(outputs);
        COT_ASSERT(Int8Predictor(opened->program).run(std::vector<float>(inputs, 0.5f), 1, answer).has_value());
      }
    } else {
      COT_ASSERT(opened.error().code() != ErrorCode::internal);
    }
  }
  const Result<Bytes> expanded = expand_model(file);
  if (!expanded) {
    COT_ASSERT(expanded.error().code() != ErrorCode::internal);
    return 0;
  }
  // What was a model with int8 is one without.
  if (*expanded != file) COT_ASSERT(decode_model(*expanded).has_value());
  return 0;
}
