#include "fl_server/net/retry_after.h"

#include <gtest/gtest.h>

#include <charconv>
#include <set>

#include "fl_server/admin_api/problem.h"
#include "fl_server/net/frame_response.h"
#include "proto/codec/codec.h"

namespace coterie {
namespace {

// The header's number; none or more than one: 0.
uint32_t retry_after(const HttpResponse& response) {
  uint32_t seconds = 0;
  int count = 0;
  for (const auto& [name, value] : response.headers) {
    if (name != "Retry-After") continue;
    ++count;
    std::from_chars(value.data(), value.data() + value.size(), seconds);
  }
  return count == 1 ? seconds : 0;
}

TEST(RetryAfter, IsWholeSecondsOfTheWindowAndNeverZero) {
  EXPECT_EQ(retry_after_seconds({0, 0, ""}, 0.5), 1u);
  EXPECT_EQ(retry_after_seconds({0, 10'000, ""}, 0), 1u) << "at once would be a retry without a pause";
  EXPECT_EQ(retry_after_seconds({1'500, 1'500, ""}, 0.5), 2u) << "not before the window begins";
  EXPECT_EQ(retry_after_seconds({10'000, 30'000, ""}, 0), 10u);
  EXPECT_EQ(retry_after_seconds({10'000, 30'000, ""}, 0.5), 20u);
  EXPECT_EQ(retry_after_seconds({0, UINT32_MAX, ""}, 1), 4'294'968u);
}

// Every answer of either plane is made by one of two functions, from an error: so these are all refusals there are.
TEST(RetryAfter, IsInEveryAnswerThatMayPassOfBothPlanesAndInNoOther) {
  std::set<int> statuses;
  for (const ErrorTraits& row : all_error_traits()) {
    const Error error(row.code, "a reason");
    const HttpResponse frame = error_response(error, {});
    const HttpResponse problem = problem_response(error);
    for (const HttpResponse* response : {&frame, &problem}) {
      const uint32_t seconds = retry_after(*response);
      if (may_pass(row.code)) {
        EXPECT_GE(seconds, kRetryMinMs / 1'000) << row.name;
        EXPECT_LE(seconds, kRetryMaxMs / 1'000 + 1) << row.name;
        statuses.insert(response->status);
      } else {
        EXPECT_EQ(seconds, 0u) << row.name;
        EXPECT_NE(response->status, 429) << row.name;
        EXPECT_NE(response->status, 503) << row.name;
      }
    }
  }
  EXPECT_TRUE(statuses.contains(429));
  EXPECT_TRUE(statuses.contains(503));
}

TEST(RetryAfter, IsDrawnFromTheWindowAnewEachTime) {
  const RetryWindow window{10'000, 60'000, ""};
  std::set<uint32_t> seen;
  for (int i = 0; i < 200; ++i) {
    const uint32_t seconds = retry_after(error_response(Error(ErrorCode::overloaded, "later"), window));
    ASSERT_GE(seconds, 10u);
    ASSERT_LE(seconds, 60u);
    seen.insert(seconds);
  }
  EXPECT_GE(seen.size(), 20u);
}

TEST(RetryAfter, OfDevicesIsAWindowInTheFrameToo) {
  const HttpResponse own = error_response(Error(ErrorCode::overloaded, "later"), {7'000, 9'000, ""});
  const auto told = decode_error_reply(own.body);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->retry_min_ms, 7'000u);
  EXPECT_EQ(told->retry_max_ms, 9'000u);
  const auto none = decode_error_reply(error_response(Error(ErrorCode::rate_limited, "later"), {}).body);
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(none->retry_max_ms, kRetryMaxMs) << "what devices go by is never empty";
}

}  // namespace
}  // namespace coterie
