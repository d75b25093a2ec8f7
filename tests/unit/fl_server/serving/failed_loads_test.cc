#include "fl_server/serving/failed_loads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr Instant kBegin{Millis(1'000'000)};

TEST(FailedLoads, TryAgainWhatMayPassLaterEachTime) {
  for (const ErrorCode code :
       {ErrorCode::unavailable, ErrorCode::overloaded, ErrorCode::timed_out, ErrorCode::not_found, ErrorCode::data_loss,
        ErrorCode::storage_full, ErrorCode::too_large}) {
    FailedLoads failed;
    Instant now = kBegin;
    Millis last{0};
    for (int i = 0; i < 12; ++i) {
      const auto again_in = failed.failed("a", 3, code, now);
      ASSERT_TRUE(again_in) << traits(code).name;
      EXPECT_TRUE(*again_in == FailedLoads::kFirst || *again_in == 2 * last || *again_in == FailedLoads::kMost);
      EXPECT_THAT(failed.resting(now + *again_in - Millis(1)), ElementsAre(Pair("a", 3)));
      now += *again_in;
      EXPECT_THAT(failed.resting(now), IsEmpty());
      last = *again_in;
    }
    EXPECT_EQ(last, FailedLoads::kMost);
    failed.loaded("a", 3);
    EXPECT_EQ(failed.failed("a", 3, code, now), FailedLoads::kFirst) << "from the beginning";
  }
}

TEST(FailedLoads, NeverTryAgainWhatIsWrongWithAFile) {
  for (const ErrorCode code : {ErrorCode::malformed, ErrorCode::invalid_argument, ErrorCode::unsupported_version}) {
    FailedLoads failed;
    EXPECT_EQ(failed.failed("a", 3, code, kBegin), std::nullopt);
    failed.room_came(true, kBegin);
    EXPECT_THAT(failed.resting(kBegin + Millis(1'000'000'000)), ElementsAre(Pair("a", 3)));
  }
}

TEST(FailedLoads, TryAtOnceWhatFoundNoRoomWhenThereIsSome) {
  FailedLoads failed;
  (void)failed.failed("a", 3, ErrorCode::too_large, kBegin);
  (void)failed.failed("b", 1, ErrorCode::unavailable, kBegin);
  EXPECT_TRUE(failed.lacks_room("a", 3));
  EXPECT_FALSE(failed.lacks_room("b", 1));
  failed.room_came(false, kBegin);
  EXPECT_TRUE(failed.lacks_room("a", 3)) << "it would send the same ones away again";
  EXPECT_THAT(failed.resting(kBegin), ElementsAre(Pair("a", 3), Pair("b", 1)));
  failed.room_came(true, kBegin);
  EXPECT_FALSE(failed.lacks_room("a", 3));
  EXPECT_THAT(failed.resting(kBegin), ElementsAre(Pair("b", 1)));
}

TEST(FailedLoads, ForgetWhatTheRegistryHasNoMore) {
  FailedLoads failed;
  for (const uint64_t version : {1u, 2u}) (void)failed.failed("a", version, ErrorCode::malformed, kBegin);
  (void)failed.failed("b", 1, ErrorCode::malformed, kBegin);
  const std::vector<RegisteredModel> registered{{.job = "a", .population = "phones", .versions = {2, 3}}};
  failed.keep(registered);
  EXPECT_THAT(failed.resting(kBegin), ElementsAre(Pair("a", 2)));
}

}  // namespace
}  // namespace coterie
