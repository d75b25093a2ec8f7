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
    EXPECT_EQ(decoder.payload_bytes_max(1'000), 4'000u);
    const std::vector<float> sent = {1.5f, -2, 0};
    const ByteView payload(reinterpret_cast<const uint8_t*>(sent.data()), sent.size() * sizeof(float));
    std::vector<float> memory;
    const auto values = decoder.values(payload, 3, memory);
    ASSERT_OK(values);
    EXPECT_EQ(values->data(), sent.data()) << "nothing is copied";
    EXPECT_EQ(values->size(), 3u);
    EXPECT_TRUE(memory.empty());
    for (const uint64_t count : {0u, 2u, 4u}) {
      EXPECT_ERROR(decoder.values(payload, count, memory), ErrorCode::malformed, "the payload has 12");
    }
  }
}

TEST(UpdateDecoder, IsThereForWhatAPlanMaySayAlone) {
  const test::ThrowingAsserts throwing;
  EXPECT_THROW((void)update_decoder(static_cast<UpdateEncoding>(77)), AssertionFailure);
}

}  // namespace
}  // namespace coterie
