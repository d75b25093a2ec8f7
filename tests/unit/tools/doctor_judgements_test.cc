// What the doctor makes of what it saw: each judgement on both sides of its limit.
#include "tools/doctor/judgements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coterie {
namespace {

using ::testing::HasSubstr;

constexpr WallTime kNow = WallTime(Millis(1'800'000'000'000));

TEST(DoctorJudgement, ACertificateIsRenewedBeforeItEnds) {
  EXPECT_EQ(judge_certificate("server.pem", kNow + kCertificateLeftMin, kNow).health, Health::good);
  const Finding soon = judge_certificate("server.pem", kNow + kCertificateLeftMin - Millis(1), kNow);
  EXPECT_EQ(soon.health, Health::warning);
  EXPECT_THAT(soon.seen, HasSubstr("in 13 days"));
  EXPECT_EQ(judge_certificate("server.pem", kNow, kNow).health, Health::bad);
  const Finding missing =
      judge_certificate("server.pem", Error(ErrorCode::not_found, "server.pem: no such file"), kNow);
  EXPECT_EQ(missing.health, Health::bad);
  EXPECT_EQ(missing.seen, "server.pem: no such file");
}

TEST(DoctorJudgement, ADiskIsFullBeforeItIsFull) {
  EXPECT_EQ(judge_disk("/data", kDiskFreeMin, 100ull << 30).health, Health::good);
  EXPECT_EQ(judge_disk("/data", kDiskFreeMin - 1, 100ull << 30).health, Health::warning);
  EXPECT_EQ(judge_disk("/data", kDiskFreeBad, 100ull << 30).health, Health::warning);
  EXPECT_EQ(judge_disk("/data", kDiskFreeBad - 1, 100ull << 30).health, Health::bad);
}

TEST(DoctorJudgement, OthersMayReadNothing) {
  EXPECT_EQ(judge_mode("keys", "/data/keys", 040700).health, Health::good);
  for (const uint32_t mode : {040701u, 040710u, 0100640u, 0100604u}) {
    EXPECT_EQ(judge_mode("keys", "/data/a key", mode).health, Health::bad) << mode;
  }
  EXPECT_EQ(judge_mode("keys", "/data/a key", 0100604).advice, "chmod go= '/data/a key'");
}

TEST(DoctorJudgement, AServersClockMayDifferByWhatItAllows) {
  const Millis allowed{300'000};
  EXPECT_EQ(judge_server_clock(kNow + kClockApartMax, kNow, allowed).health, Health::good);
  const Finding ahead = judge_server_clock(kNow + Millis(90'000), kNow, allowed);
  EXPECT_EQ(ahead.health, Health::warning);
  EXPECT_THAT(ahead.seen, HasSubstr("ahead of ours"));
  const Finding behind = judge_server_clock(kNow - allowed - Millis(1), kNow, allowed);
  EXPECT_EQ(behind.health, Health::bad);
  EXPECT_THAT(behind.seen, HasSubstr("behind ours"));
}

TEST(DoctorJudgement, AClockThatNothingKeepsRightIsAWarning) {
  EXPECT_EQ(judge_clock(true).health, Health::good);
  EXPECT_EQ(judge_clock(false).health, Health::warning);
  EXPECT_EQ(judge_clock(std::nullopt).health, Health::unseen);
}

TEST(DoctorJudgement, ANewerSchemaIsBadAndAnOlderOneIsMigrated) {
  EXPECT_EQ(judge_schema("db", 8, 8).health, Health::good);
  EXPECT_EQ(judge_schema("db", 0, 8).health, Health::good);
  EXPECT_EQ(judge_schema("db", 7, 8).health, Health::warning);
  EXPECT_EQ(judge_schema("db", 9, 8).health, Health::bad);
  EXPECT_EQ(judge_schema("db", Error(ErrorCode::unavailable, "connection refused"), 8).seen, "connection refused");
}

TEST(DoctorJudgement, EachProblemOfAConfigurationIsAFinding) {
  EXPECT_EQ(judge_configuration("server.json", {}).front().health, Health::good);
  const Findings findings =
      judge_configuration("server.json", {{"/device/port", "must be a number"}, {"", "is no object"}});
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].seen, "/device/port: must be a number");
  EXPECT_EQ(findings[1].seen, "/: is no object");
  EXPECT_EQ(worst_of(findings), Health::bad);
}

TEST(DoctorJudgement, AMisfitIsSaidInItsUnits) {
  const Finding files = judge_misfit({"open files", 1024, 20256, "*.connections_max"});
  EXPECT_EQ(files.seen, "this process may have 1,024, the settings may come to need 20,256");
  EXPECT_THAT(files.advice, HasSubstr("*.connections_max"));
  EXPECT_THAT(judge_misfit({"address space", 1 << 20, 4 << 20, "x"}).seen, HasSubstr("1.0 MiB"));
}

TEST(DoctorJudgement, TheWorstIsWhatCounts) {
  EXPECT_EQ(worst_of({}), Health::good);
  EXPECT_EQ(worst_of({{Health::good, "", "", ""}, {Health::warning, "", "", ""}, {Health::unseen, "", "", ""}}),
            Health::warning);
}

}  // namespace
}  // namespace coterie
