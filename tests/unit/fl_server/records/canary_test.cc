#include "fl_server/records/canary.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

Digest salt_of(uint8_t value) {
  Digest salt;
  salt.bytes.fill(value);
  return salt;
}

DeviceId random_device(Prng& chance) {
  DeviceId id;
  for (uint8_t& byte : id.bytes) byte = static_cast<uint8_t>(chance.below(256));
  return id;
}

// Among 20,000 devices, within four standard deviations of the percent. Two canaries share as many devices as chance
// has them share.
TEST(CanaryShare, IsThePercentAndAnotherOneForEachSalt) {
  Prng chance = Prng::derived(134, 1);
  int few = 0, half = 0, other = 0, of_both = 0;
  constexpr int kDevices = 20'000;
  for (int i = 0; i < kDevices; ++i) {
    const DeviceId device = random_device(chance);
    few += is_in_share(salt_of(1), 5, device);
    const bool is_in_one = is_in_share(salt_of(1), 50, device), is_in_other = is_in_share(salt_of(2), 50, device);
    half += is_in_one;
    other += is_in_other;
    of_both += is_in_one && is_in_other;
  }
  EXPECT_NEAR(few, 1'000, 124);
  EXPECT_NEAR(half, 10'000, 283);
  EXPECT_NEAR(other, 10'000, 283);
  EXPECT_NEAR(of_both, 5'000, 245);
}

TEST(CanaryShare, GrowsWithThePercentAndNobodyLeavesIt) {
  Prng chance = Prng::derived(134, 2);
  for (int i = 0; i < 1'000; ++i) {
    const DeviceId device = random_device(chance);
    bool was_in = false;
    for (uint32_t percent = 0; percent <= 100; ++percent) {
      const bool is_in = is_in_share(salt_of(3), percent, device);
      EXPECT_TRUE(is_in || !was_in);
      was_in = is_in;
    }
    EXPECT_FALSE(is_in_share(salt_of(3), 0, device));
    EXPECT_TRUE(was_in) << "100 percent are all";
  }
}

TEST(CanaryHeard, ComesBackToTheBit) {
  RolloutEvidence evidence({});
  for (const double harm : {0.25, -1.0, 1.0 / 3, 0.0}) evidence.hear(harm);
  const Bytes bytes = encode_heard(evidence.so_far());
  const auto back = decode_heard(bytes);
  ASSERT_OK(back);
  EXPECT_EQ(*back, evidence.so_far());
  EXPECT_EQ(*decode_heard(encode_heard({})), HeardHarms{});
}

TEST(CanaryHeard, IsRefusedWhereItIsDamaged) {
  Bytes bytes = encode_heard({});
  EXPECT_ERROR(decode_heard(ByteView(bytes).first(bytes.size() - 1)), ErrorCode::data_loss, "damaged");
  bytes.push_back(0);
  EXPECT_ERROR(decode_heard(bytes), ErrorCode::data_loss, "damaged");
  HeardHarms heard;
  heard.harm[3] = std::numeric_limits<double>::infinity();
  EXPECT_ERROR(decode_heard(encode_heard(heard)), ErrorCode::data_loss, "damaged");
  heard = {.heard = kCanaryHeardMax + 1};
  EXPECT_ERROR(decode_heard(encode_heard(heard)), ErrorCode::data_loss, "damaged");
}

}  // namespace
}  // namespace coterie
