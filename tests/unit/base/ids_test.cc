#include "base/ids.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

static_assert(!std::is_convertible_v<uint64_t, RoundId>, "a number becomes an id on purpose only");
static_assert(!std::is_constructible_v<RoundId, ModelVersion>, "ids do not mix, even of one representation");
static_assert(!std::is_assignable_v<JobId&, Population>);
static_assert(sizeof(RoundId) == sizeof(uint64_t));

TEST(StrongId, ComparesHashesAndDefaultsByValue) {
  EXPECT_EQ(RoundId(), RoundId(0));
  EXPECT_LT(RoundId(1), RoundId(2));
  EXPECT_EQ(JobId("a").value(), "a");
  const std::unordered_set<JobId> jobs = {JobId("a"), JobId("b"), JobId("a")};
  EXPECT_EQ(jobs.size(), 2u);
}

TEST(RoundKey, OrdersByRoundThenAttempt) {
  const RoundKey first{RoundId(1), Attempt(9)};
  const RoundKey second{RoundId(2), Attempt(1)};
  const RoundKey third{RoundId(2), Attempt(2)};
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
}

TEST(DeviceId, ReadsExactly32LowerCaseHexDigits) {
  const Result<DeviceId> id = DeviceId::from_hex("00112233445566778899aabbccddeeff");
  ASSERT_OK(id);
  EXPECT_EQ(id->hex(), "00112233445566778899aabbccddeeff");
  EXPECT_EQ(id->short_hash(), "00112233") << "what logs may show";
  EXPECT_ERROR(DeviceId::from_hex("00"), ErrorCode::malformed, "32 hexadecimal digits, got 2");
  EXPECT_ERROR(DeviceId::from_hex(std::string(34, '0')), ErrorCode::malformed, "32 hexadecimal digits, got 34");
  EXPECT_ERROR(DeviceId::from_hex(std::string(32, 'F')), ErrorCode::malformed, "hexadecimal");
}

TEST(DeviceId, HashesByItsFirstBytes) {
  DeviceId a;
  DeviceId b;
  a.bytes[7] = 1;
  b.bytes[15] = 1;
  EXPECT_EQ(std::hash<DeviceId>{}(a), 1u);
  EXPECT_EQ(std::hash<DeviceId>{}(b), 0u);
  const std::unordered_set<DeviceId> devices = {a, b, a};
  EXPECT_EQ(devices.size(), 2u) << "equal hashes would still be told apart";
}

}  // namespace
}  // namespace coterie
