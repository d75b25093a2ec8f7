// Any bytes as a model file with weights as int8: an error, or the float32 file that it stands for.
#include "base/assert.h"
#include "device_sdk/runtime/stored_model_file.h"
#include "proto/codec/codec.h"
#include "tests/support/frame_repair.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  const Bytes file = test::with_true_sizes({data, size}, FrameKind::model);
  const Result<Bytes> expanded = expand_model(file);
  if (!expanded) {
    COT_ASSERT(expanded.error().code() != ErrorCode::internal);
    return 0;
  }
  // What was a model with int8 is one without.
  if (*expanded != file) COT_ASSERT(decode_model(*expanded).has_value());
  return 0;
}
