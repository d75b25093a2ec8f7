#include "fl_server/json/rfc3339.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

WallTime wall(int64_t ms) { return wall_time_from_unix_ms(ms); }

TEST(Rfc3339, IsUtcWithMilliseconds) {
  EXPECT_EQ(rfc3339(wall(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(wall(1)), "1970-01-01T00:00:00.001Z");
  EXPECT_EQ(rfc3339(wall(1'795'242'600'123)), "2026-11-21T06:30:00.123Z");
  EXPECT_EQ(rfc3339(wall(951'782'400'050)), "2000-02-29T00:00:00.050Z");
  EXPECT_EQ(rfc3339(wall(253'402'300'799'999)), "9999-12-31T23:59:59.999Z");
}

TEST(Rfc3339, KnowsTimesBefore1970) {
  EXPECT_EQ(rfc3339(wall(-1)), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(rfc3339(wall(-1'000)), "1969-12-31T23:59:59.000Z");
  EXPECT_EQ(rfc3339(wall(-86'400'000)), "1969-12-31T00:00:00.000Z");
}

TEST(ParseRfc3339, ReadsWhatIsWrittenAndNothingElse) {
  for (const int64_t ms :
       {0ll, 1ll, 999ll, 951'782'399'050ll, 951'782'400'000ll, 1'795'242'600'123ll, 253'402'300'799'999ll}) {
    EXPECT_EQ(parse_rfc3339(rfc3339(wall_time_from_unix_ms(ms))), wall_time_from_unix_ms(ms));
  }
  EXPECT_EQ(parse_rfc3339("2026-11-21T06:30:00Z"), wall_time_from_unix_ms(1'795'242'600'000));
  EXPECT_EQ(parse_rfc3339("2024-02-29T00:00:00Z"), wall_time_from_unix_ms(1'709'164'800'000));
  for (const char* text :
       {"", "Z", "2026-11-21", "2026-11-21T06:30:00", "2026-11-21T06:30:00z", "2026-11-21 06:30:00Z",
        "2026-11-21T06:30:00+00:00", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z",
        "2026-11-21T06:30:00.1Z", "2026-11-21T06:30:00.1234Z", "-026-11-21T06:30:00Z", "2026-11-21T06:30:00Z "}) {
    EXPECT_EQ(parse_rfc3339(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace coterie
