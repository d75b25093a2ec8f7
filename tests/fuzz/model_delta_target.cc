// Any bytes as a delta, on a model that the first of them chooses: an error, or a model file of the same size.
#include "base/assert.h"
#include "proto/codec/codec.h"
#include "proto/delta/apply_delta.h"
#include "tests/support/frame_repair.h"
#include "tests/support/plain_model.h"

namespace {

coterie::Bytes base_of(uint8_t choice) {
  using namespace coterie;
  if (choice % 2 == 0) return test::plain_model(std::vector<float>(300, 0.5f));
  return test::normed_model(std::vector<float>(20, 0.5f), std::vector<float>(20, 0.25f));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  if (size == 0) return 0;
  const Bytes base = base_of(data[0]);
  const Bytes file = test::with_true_sizes(ByteView(data, size).subspan(1), FrameKind::model_delta);
  const auto delta = decode_model_delta(file);
  if (!delta) {
    COT_ASSERT(delta.error().code() != ErrorCode::internal);
    return 0;
  }
  const Result<MovedModel> moved = apply_delta(base, delta->header.base, file, delta->header.bits);
  if (!moved) {
    COT_ASSERT(moved.error().code() == ErrorCode::malformed);
    return 0;
  }
  COT_ASSERT(moved->file.size() == base.size() && moved->result == delta->header.result);
  COT_ASSERT(decode_model(moved->file).has_value());
  return 0;
}
