// Alarms of counts, and of what a server's metrics say.
#include "fl_server/telemetry/alarm_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fl_server/telemetry/alarm_counts.h"
#include "fl_server/telemetry/collected_metrics.h"
#include "fl_server/telemetry/metrics.h"

namespace coterie {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;

class Alarms : public testing::Test {
 protected:
  // The counts as they are, again and again until `then`.
  void run(Millis then, AlarmKind kind, AlarmCount count, const std::string& of = "") {
    counts_[{kind, of}] = count;
    for (; at_ <= then; at_ += AlarmWatch::kLookEvery) {
      watch_.observe(Instant(at_), wall_time_from_unix_ms(at_.count()), counts_);
    }
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const Alarm& alarm : watch_.alarms()) {
      found.push_back(std::string(alarm.rule->name) + (alarm.of.empty() ? "" : " of " + alarm.of));
    }
    return found;
  }

  AlarmWatch watch_;
  AlarmCounts counts_;
  Millis at_{0};
};

TEST_F(Alarms, EndWithTheWindowInWhichSomethingRose) {
  run(minutes(10), AlarmKind::storage_full, {0, 0});
  EXPECT_THAT(names(), IsEmpty());
  run(minutes(11), AlarmKind::storage_full, {1, 0});
  EXPECT_THAT(names(), ElementsAre("CoterieStorageFull"));
  EXPECT_EQ(unix_ms(watch_.alarms()[0].since), Millis(minutes(10) + AlarmWatch::kLookEvery).count());
  run(minutes(15), AlarmKind::storage_full, {1, 0});
  EXPECT_THAT(names(), ElementsAre("CoterieStorageFull")) << "of the last five minutes";
  run(minutes(16), AlarmKind::storage_full, {1, 0});
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(Alarms, BeginAtTheFirstCountOfWhatWasNeverCounted) {
  run(minutes(1), AlarmKind::storage_full, {0, 0});
  run(minutes(2), AlarmKind::ledger_rollback, {1, 0}, "ledger_fork");
  EXPECT_THAT(names(), ElementsAre("CoterieLedgerRollback of ledger_fork"));
}

TEST_F(Alarms, WaitAsLongAsTheirRuleSays) {
  run(minutes(1), AlarmKind::is_behind, {0, 0});
  run(minutes(2), AlarmKind::is_behind, {300, 0});
  EXPECT_THAT(names(), IsEmpty()) << "no more than one a second";
  for (int i = 1; i <= 9; ++i) run(minutes(2 + i), AlarmKind::is_behind, {300 + 400.0 * i, 0});
  EXPECT_THAT(names(), IsEmpty()) << "not for ten minutes";
  for (int i = 10; i <= 12; ++i) run(minutes(2 + i), AlarmKind::is_behind, {300 + 400.0 * i, 0});
  EXPECT_THAT(names(), ElementsAre("CoterieIsBehind"));
  EXPECT_LT(unix_ms(watch_.alarms()[0].since), Millis(minutes(4)).count()) << "since it is so";
}

TEST_F(Alarms, HoldWhatIsCountedAgainstAllOfIt) {
  run(minutes(1), AlarmKind::plans_refused, {0, 0}, "epsilon_total");
  run(minutes(1), AlarmKind::rounds_fail, {0, 0});
  run(minutes(2), AlarmKind::plans_refused, {10, 100}, "epsilon_total");
  EXPECT_THAT(names(), IsEmpty()) << "one in ten, and no more";
  run(minutes(3), AlarmKind::plans_refused, {11, 100}, "epsilon_total");
  EXPECT_THAT(names(), ElementsAre("CoteriePlansRefused of epsilon_total"));
  run(minutes(4), AlarmKind::rounds_fail, {3, 0});
  EXPECT_THAT(names(), ElementsAre("CoteriePlansRefused of epsilon_total")) << "three attempts may fail";
  run(minutes(5), AlarmKind::rounds_fail, {4, 4});
  EXPECT_THAT(names(), ElementsAre("CoteriePlansRefused of epsilon_total")) << "as many are done";
  run(minutes(6), AlarmKind::rounds_fail, {5, 4});
  EXPECT_THAT(names(), ElementsAre("CoteriePlansRefused of epsilon_total", "CoterieRoundsFail")) << "the longest first";
  run(minutes(7), AlarmKind::storage_full, {1, 0});
  EXPECT_THAT(names(), ElementsAre("CoterieStorageFull", "CoteriePlansRefused of epsilon_total", "CoterieRoundsFail"))
      << "what is felt now before what will get worse";
}

// Tickets are counted long before the first device refuses a plan for a reason.
TEST_F(Alarms, HoldANewReasonAgainstTheWindowsTickets) {
  run(hours(1), AlarmKind::plans_refused, {0, 100'000});
  run(hours(3), AlarmKind::plans_refused, {0, 100'100});
  counts_[{AlarmKind::plans_refused, ""}] = {0, 100'200};
  run(hours(3) + minutes(1), AlarmKind::plans_refused, {10, 100'200}, "cohort_min");
  EXPECT_THAT(names(), IsEmpty()) << "one in ten";
  run(hours(3) + minutes(2), AlarmKind::plans_refused, {11, 100'200}, "cohort_min");
  EXPECT_THAT(names(), ElementsAre("CoteriePlansRefused of cohort_min"));
}

TEST_F(Alarms, RememberADaysBestOfEachJob) {
  run(hours(1), AlarmKind::accuracy_fell, {0.95, 0}, "j1");
  run(hours(1), AlarmKind::accuracy_fell, {0.9, 0}, "j2");
  run(hours(2), AlarmKind::accuracy_fell, {0.84, 0}, "j1");
  run(hours(2) + minutes(20), AlarmKind::accuracy_fell, {0.81, 0}, "j2");
  EXPECT_THAT(names(), ElementsAre("CoterieAccuracyFell of j1"));
  run(hours(26), AlarmKind::accuracy_fell, {0.84, 0}, "j1");
  EXPECT_THAT(names(), IsEmpty()) << "that was a day ago";
}

// Each metric that a rule reads, by its name and labels.
TEST_F(Alarms, AreReadFromTheMetrics) {
  Metrics metrics("1.2.3");
  const auto count = [&](AlarmKind kind, const std::string& of = "") {
    const AlarmCounts counts = alarm_counts_of(metrics.collect());
    const auto found = counts.find({kind, of});
    return found == counts.end() ? std::pair(-1.0, -1.0) : std::pair(found->second.part, found->second.whole);
  };
  EXPECT_EQ(count(AlarmKind::plans_refused, "cohort_min"), std::pair(-1.0, -1.0));
  metrics.checkin_answered(true);
  metrics.checkin_answered(false);
  for (const char* reason : {"ledger_fork", "cohort_min", "charging", "download_budget"}) metrics.plan_refused(reason);
  metrics.update_accepted(10);
  for (const ErrorCode code : {ErrorCode::storage_full, ErrorCode::overloaded, ErrorCode::rate_limited})
    metrics.update_refused(code);
  metrics.request_answered("device", "/a", 200, 0.01);
  metrics.request_answered("device", "/b", 507, 0.01);
  metrics.round_ended(RoundState::done, 1);
  metrics.round_ended(RoundState::failed, 1);
  metrics.session_failed("too_few");
  for (const char* reason : {"queue_delay", "connections", "device_rate"}) metrics.request_refused(reason);
  metrics.batch_committed(0.9);
  metrics.batch_committed(1.1);
  metrics.set_evaluation(JobId("j1"), 0.5, 0.9);
  EXPECT_EQ(count(AlarmKind::ledger_rollback, "ledger_fork"), std::pair(1.0, 0.0));
  EXPECT_EQ(count(AlarmKind::ledger_rollback, "cohort_min"), std::pair(-1.0, -1.0));
  EXPECT_EQ(count(AlarmKind::plans_refused, "cohort_min"), std::pair(1.0, 1.0));
  EXPECT_EQ(count(AlarmKind::plans_refused), std::pair(0.0, 1.0)) << "their whole";
  for (const char* reason : {"ledger_fork", "charging", "download_budget"}) {
    EXPECT_EQ(count(AlarmKind::plans_refused, reason), std::pair(-1.0, -1.0))
        << reason << ": not what the job promises";
  }
  EXPECT_EQ(count(AlarmKind::storage_full), std::pair(1.0, 0.0));
  EXPECT_EQ(count(AlarmKind::updates_shed), std::pair(2.0, 1.0));
  EXPECT_EQ(count(AlarmKind::server_errors, "device"), std::pair(1.0, 2.0));
  EXPECT_EQ(count(AlarmKind::rounds_fail), std::pair(1.0, 1.0));
  EXPECT_EQ(count(AlarmKind::sessions_fail, "too_few"), std::pair(1.0, 0.0));
  EXPECT_EQ(count(AlarmKind::is_behind), std::pair(2.0, 0.0));
  EXPECT_EQ(count(AlarmKind::commits_are_slow), std::pair(1.0, 2.0));
  EXPECT_EQ(count(AlarmKind::accuracy_fell, "j1"), std::pair(0.9, 0.0));
}

}  // namespace
}  // namespace coterie
