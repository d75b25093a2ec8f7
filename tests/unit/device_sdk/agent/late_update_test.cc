#include "device_sdk/agent/late_update.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "device_sdk/agent/encode_update.h"
#include "proto/codec/codec.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

const RoundKey kOwn{RoundId(3), Attempt(1)}, kLater{RoundId(5), Attempt(2)};

Bytes frame() {
  UpdateHeader header;
  header.round = kOwn;
  header.model.bytes.fill(9);
  header.value_count = 3;
  header.weight = 4;
  header.examples = 5;
  return encode_update(header, std::vector<float>{1, -2, 0.5f});
}

TEST(LateUpdate, IsTheSameButForItsRoundAndWeight) {
  const Result<Bytes> late = late_update(frame(), kLater, 0.5f);
  ASSERT_OK(late);
  const auto update = decode_update(*late);
  ASSERT_OK(update);
  UpdateHeader own = decode_update(frame())->header;
  own.round = kLater;
  EXPECT_EQ(update->header, own);
  std::vector<float> values(3);
  std::memcpy(values.data(), update->payload.data(), update->payload.size());
  EXPECT_EQ(values, (std::vector<float>{0.5f, -1, 0.25f}));
}

TEST(LateUpdate, OfTheRoundItWasTrainedForIsTheUpdate) { EXPECT_EQ(*late_update(frame(), kOwn, 1), frame()); }

TEST(LateUpdate, OfAnotherEncodingOrOfNoiseIsRefused) {
  UpdateHeader levels = decode_update(frame())->header;
  levels.encoding = UpdateEncoding::quantized;
  levels.bits = 8;
  EXPECT_ERROR(late_update(encode_update(levels, std::vector<uint16_t>{1, 2, 3}), kLater, 1), ErrorCode::data_loss, "");
  EXPECT_ERROR(late_update(ByteView(frame()).first(20), kLater, 1), ErrorCode::data_loss, "");
}

}  // namespace
}  // namespace coterie
