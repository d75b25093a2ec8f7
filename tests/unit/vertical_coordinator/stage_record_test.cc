// How far a party has come in a stage, and how long the rest may take.
#include "vertical/coordinator/stage_record.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"
#include "vertical/coordinator/leakage_row.h"

namespace coterie::vertical {
namespace {

WallTime at(int64_t seconds) { return wall_time_from_unix_ms(1000 * seconds); }
StageProgress training(uint32_t units, bool is_over = false) {
  return {.stage = JobStage::training, .is_over = is_over, .units = units, .units_all = 10, .sent_bytes = 100 * units};
}

TEST(StageRecord, HasTheTimeLeftByWhatUnitsTookInThisRun) {
  StageRecords records;
  EXPECT_TRUE(hear_stage(records, training(0), true, at(100))) << "it begins";
  const std::optional<StageRecord>& record = records[1];
  ASSERT_TRUE(record);
  EXPECT_FALSE(records[0] || records[2]);
  EXPECT_EQ(time_left(*record), std::nullopt) << "no unit is done";
  EXPECT_FALSE(hear_stage(records, training(4), false, at(108))) << "said again, so that it need not last";
  EXPECT_EQ(time_left(*record), Millis(12'000));
  EXPECT_EQ(record->last.sent_bytes, 400u);
  // The run is cut off, and goes on an hour later behind the unit that both have.
  hear_stage(records, training(3), true, at(3700));
  EXPECT_EQ(time_left(*record), std::nullopt);
  EXPECT_EQ(record->begun, at(100));
  hear_stage(records, training(5), false, at(3702));
  EXPECT_EQ(time_left(*record), Millis(5'000)) << "the hour does not count";
  EXPECT_TRUE(hear_stage(records, training(10, true), false, at(3710)));
  EXPECT_EQ(time_left(*record), std::nullopt) << "it is over";
  EXPECT_FALSE(hear_stage(records, training(10, true), false, at(3711))) << "it was over before";
}

TEST(StageRecord, TakesAClockThatIsSetBack) {
  StageRecords records;
  hear_stage(records, training(0), true, at(100));
  hear_stage(records, training(5), false, at(50));
  EXPECT_EQ(records[1]->heard, at(100));
  EXPECT_EQ(time_left(*records[1]), Millis(0));
}

// A coordinator that lies says times and units that no number of milliseconds holds together.
TEST(StageRecord, SaysACenturyAtMost) {
  StageRecord record{.begun = at(0), .since = at(0), .heard = at(1'000'000'000'000), .units_since = 0, .last = {}};
  record.last = {.stage = JobStage::training, .units = 1, .units_all = UINT32_MAX};
  const std::optional<Millis> left = time_left(record);
  ASSERT_TRUE(left);
  EXPECT_EQ(*left, Millis(36'525ll * 86'400'000));
}

TEST(StageRecord, RefusesMoreUnitsThanAll) {
  ASSERT_OK(check_stage_progress(training(10)));
  EXPECT_ERROR(check_stage_progress(training(11)), ErrorCode::invalid_argument, "10 units cannot have 11 done");
}

TEST(LeakageRows, AreFoundByTheirIds) {
  for (const LeakageRow& row : all_leakage_rows()) EXPECT_EQ(leakage_row(row.id), &row);
  EXPECT_EQ(leakage_row("L5"), nullptr);
  EXPECT_EQ(leakage_row(""), nullptr);
}

}  // namespace
}  // namespace coterie::vertical
