#include "fl_server/telemetry/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "base/os/file.h"
#include "fl_server/telemetry/collected_metrics.h"
#include "fl_server/telemetry/refusals.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

using testing::HasSubstr;

// Each family has been used.
std::string exposition() {
  Metrics metrics("1.2.3");
  metrics.request_answered("device", "/v1/checkins", 200, 0.01);
  metrics.checkin_answered(true);
  metrics.checkin_answered(false);
  metrics.checkins_ended("not_drawn", 3);
  metrics.update_accepted(1000);
  metrics.update_refused(ErrorCode::overloaded);
  metrics.plan_refused("cohort_min");
  metrics.device_held("charging");
  metrics.request_refused("queue_delay");
  metrics.set_queue_delay("store", 0.25);
  metrics.batch_committed(0.1);
  metrics.round_ended(RoundState::done, 12);
  metrics.round_finalized(0.2);
  metrics.masks_opened(0.3);
  metrics.devices_dropped("sharing", 2);
  metrics.session_failed("");
  metrics.set_devices_waiting(5);
  metrics.set_bytes_in_flight(7);
  metrics.add_connections("admin", 1);
  metrics.set_evaluation(JobId("j1"), 0.5, 0.9);
  metrics.set_watch(JobId("j1"), {.looked = 1, .hits = {{"label_drift", "", 0.75}}});
  metrics.set_watch(JobId("j1"), {.looked = 0.5, .hits = {{"dead_relu", "a", 0.25}, {"dead_relu", "b", 0.125}}});
  return metrics.exposition();
}

TEST(Metrics, TellRefusalsByReason) {
  Metrics metrics("1.2.3");
  metrics.update_accepted(10);
  EXPECT_TRUE(refusals_of(metrics.collect()).updates.empty()) << "one that is taken is none";
  metrics.update_refused(ErrorCode::overloaded);
  metrics.request_refused("queue_delay");
  metrics.checkins_ended("not_drawn", 3);
  for (const char* gate : {"ticket", "ticket_again", "joined"}) metrics.checkins_ended(gate, 5);
  metrics.plan_refused("cohort_min");
  metrics.plan_refused("cohort_min");
  metrics.device_held("charging");
  const Refusals refusals = refusals_of(metrics.collect());
  using Counts = std::map<std::string, uint64_t>;
  EXPECT_EQ(refusals.updates, (Counts{{"overloaded", 1}}));
  EXPECT_EQ(refusals.requests, (Counts{{"queue_delay", 1}}));
  EXPECT_EQ(refusals.checkins, (Counts{{"not_drawn", 3}}));
  EXPECT_EQ(refusals.plans, (Counts{{"cohort_min", 2}}));
  EXPECT_EQ(refusals.held, (Counts{{"charging", 1}}));
}

TEST(Metrics, CountWhatHappened) {
  const std::string text = exposition();
  for (const char* line :
       {"coterie_build_info{version=\"1.2.3\"} 1\n", "coterie_checkins_total{outcome=\"ticket\"} 1\n",
        "coterie_checkin_reasons_total{reason=\"not_drawn\"} 3\n", "coterie_updates_total{outcome=\"overloaded\"} 1\n",
        "coterie_update_bytes_total 1000\n", "coterie_plans_refused_total{reason=\"cohort_min\"} 1\n",
        "coterie_devices_held_total{reason=\"charging\"} 1\n",
        "coterie_requests_refused_total{reason=\"queue_delay\"} 1\n",
        "coterie_queue_delay_seconds{queue=\"store\"} 0.25\n",
        "coterie_secagg_devices_dropped_total{phase=\"sharing\"} 2\n",
        "coterie_secagg_sessions_failed_total{reason=\"other\"} 1\n", "coterie_devices_waiting 5\n",
        "coterie_watch_looked_ratio{job=\"j1\"} 0.5\n",
        "coterie_watch_hit_ratio{check=\"dead_relu\",job=\"j1\"} 0.25\n",
        "coterie_watch_hit_ratio{check=\"label_drift\",job=\"j1\"} 0\n",
        "coterie_evaluation_accuracy_ratio{job=\"j1\"} 0.9"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

// Prometheus' own opinion of names, units and help texts.
TEST(Metrics, PassPromtool) {
  if (std::system("command -v promtool > /dev/null") != 0)
    GTEST_SKIP() << "there is no promtool: apt-get install prometheus";
  const test::TemporaryDirectory directory;
  ASSERT_OK(os::write_file_atomically(directory / "metrics", as_bytes(exposition())));
  const std::string command = "promtool check metrics < '" + (directory / "metrics") + "' 2>&1";
  std::FILE* promtool = ::popen(command.c_str(), "r");
  ASSERT_NE(promtool, nullptr);
  std::string said;
  char piece[512];
  while (std::fgets(piece, sizeof piece, promtool) != nullptr) said += piece;
  EXPECT_EQ(::pclose(promtool), 0) << said;
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace coterie
