#include "proto/codec/update/update_decoder.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"
#include "tests/support/throwing_asserts.h"

namespace coterie {
namespace {

TEST(UpdateDecoder, FindsFloatsInThePayloadItself) {
  for (const UpdateEncoding encoding : {UpdateEncoding::float32, UpdateEncoding::float32_pooled}) {
    const UpdateDecoder& decoder = update_decoder(encoding);
    EXPECT_EQ(decoder.encoding, encoding);
    EXPECT_EQ(decoder.payload_bytes_max({.value_count = 1'000}), 4'000u);
    const std::vector<float> sent = {1.5f, -2, 0};
    const ByteView payload(reinterpret_cast<const uint8_t*>(sent.data()), sent.size() * sizeof(float));
    std::vector<float> memory;
    const auto values = decoder.values({}, payload, {.value_count = 3}, memory);
    ASSERT_OK(values);
    EXPECT_EQ(values->data(), sent.data()) << "nothing is copied";
    EXPECT_EQ(values->size(), 3u);
    EXPECT_TRUE(memory.empty());
    for (const uint64_t count : {0u, 2u, 4u}) {
      EXPECT_ERROR(decoder.values({}, payload, {.value_count = count}, memory), ErrorCode::malformed,
                   "the payload has 12");
    }
  }
}

UpdateRules quantized(uint64_t value_count, uint32_t bits) {
  return {.encoding = UpdateEncoding::quantized, .value_count = value_count, .quantization = {.bits = bits}};
}

TEST(UpdateDecoder, UnpacksLevels) {
  const UpdateDecoder& decoder = update_decoder(UpdateEncoding::quantized);
  EXPECT_EQ(decoder.payload_bytes_max(quantized(1'001, 4)), 501u);
  const Bytes payload = {0x21, 0x0f};
  std::vector<float> memory;
  const auto levels = decoder.values({}, payload, quantized(3, 4), memory);
  ASSERT_OK(levels);
  EXPECT_EQ(std::vector<float>(levels->begin(), levels->end()), (std::vector<float>{1, 2, 15}));
  for (const uint64_t count : {0u, 2u, 5u}) {
    EXPECT_ERROR(decoder.values({}, payload, quantized(count, 4), memory), ErrorCode::malformed, "the payload has 2");
  }
  EXPECT_ERROR(decoder.values({}, Bytes{0x21, 0x1f}, quantized(3, 4), memory), ErrorCode::malformed, "behind the last");
}

TEST(UpdateDecoder, PutsTheLargestValuesIntoTheirPlaces) {
  UpdateRules rules{.encoding = UpdateEncoding::top_k, .value_count = 20, .top_k = {.sent_count = 3, .bits = 3}};
  const UpdateDecoder& decoder = update_decoder(UpdateEncoding::top_k);
  EXPECT_EQ(decoder.payload_bytes_max(rules), 4u);
  std::vector<float> memory = {7};
  const auto values = decoder.values({.scale = 2}, Bytes{0x98, 0x01, 0x3d, 0x45}, rules, memory);
  ASSERT_OK(values);
  std::vector<float> expected(20);
  expected[1] = -6, expected[19] = 6;
  EXPECT_EQ(std::vector<float>(values->begin(), values->end()), expected);
  EXPECT_ERROR(decoder.values({}, Bytes(5), rules, memory), ErrorCode::malformed, "need 4 bytes, the payload has 5");
  rules.fixed_point = FixedPointSpec::finest(8, 1000, 77);
  EXPECT_EQ(summed_as(rules), rules.fixed_point) << "values, and no levels";
  EXPECT_EQ(summed_weight(rules, 9), 9u);
}

TEST(UpdateDecoder, LeavesLevelsOfEdenToBeDecoded) {
  UpdateRules rules{.encoding = UpdateEncoding::eden, .value_count = 9, .quantization = {.bits = 1}};
  const UpdateDecoder& decoder = update_decoder(UpdateEncoding::eden);
  EXPECT_EQ(decoder.payload_bytes_max(rules), 2u);
  std::vector<float> memory;
  const auto levels = decoder.values({}, Bytes{0x05, 0x01}, rules, memory);
  ASSERT_OK(levels);
  EXPECT_EQ(std::vector<float>(levels->begin(), levels->end()), (std::vector<float>{1, 0, 1, 0, 0, 0, 0, 0, 1}));
  rules.fixed_point = FixedPointSpec::finest(8, 1000, 77);
  EXPECT_EQ(summed_as(rules), rules.fixed_point);
}

// Whatever the bytes, no level can be beyond the grid: what the sum's bound counts on.
TEST(UpdateDecoder, AddsLevelsOnceAndWithinTheirBound) {
  UpdateRules rules = quantized(3, 4);
  rules.fixed_point = FixedPointSpec::finest(8, 1000, 77);
  const FixedPointSpec spec = summed_as(rules);
  EXPECT_OK(validate(spec));
  EXPECT_EQ(spec.value_abs_max, 15);
  EXPECT_EQ(spec.contributors_max, 77u);
  EXPECT_EQ(summed_weight(rules, 9), 1u);
  rules.encoding = UpdateEncoding::float32;
  EXPECT_EQ(summed_as(rules), rules.fixed_point);
  EXPECT_EQ(summed_weight(rules, 9), 9u);
}

TEST(UpdateDecoder, IsThereForWhatAPlanMaySayAlone) {
  const test::ThrowingAsserts throwing;
  EXPECT_THROW((void)update_decoder(static_cast<UpdateEncoding>(77)), AssertionFailure);
}

}  // namespace
}  // namespace coterie
