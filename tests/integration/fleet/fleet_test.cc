// A fleet that shares its load: two schedulers of which one leads, servers behind a balancer, PostgreSQL. Every request
// of a device goes to another server. Nobody who was told "accepted" is lost or counted twice, whoever is killed, comes
// or goes.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

#include "base/os/clock.h"
#include "base/random.h"
#include "tests/integration/support/fixture.h"
#include "tests/integration/support/local_fleet.h"
#include "tests/integration/support/masked_device.h"
#include "tests/integration/support/one_hot_audit.h"
#include "tests/integration/support/raw_http.h"

namespace coterie::integration {
namespace {

constexpr size_t kValues = 32;
constexpr Millis kJobMax{150'000};
constexpr Millis kDrainMax{10'000};

class Fleet : public ::testing::Test {
 protected:
  void start(size_t servers, const std::string& config = {}) {
    if (!test::PostgresServer::is_installed())
      GTEST_SKIP() << "PostgreSQL is not installed: apt-get install postgresql";
    auto fleet = LocalFleet::start({.schedulers = 2, .servers = servers, .config = config});
    ASSERT_TRUE(test::is_ok(fleet));
    fleet_ = std::move(*fleet);
  }

  // A job of `rounds` with devices that take part until it is over; `disturb` is called in mid-round, again and again
  // while it says so, and the last round waits for that. Then the audit.
  void run(uint32_t device_count, uint32_t rounds, const std::function<bool()>& disturb) {
    const uint32_t goal = device_count * 3 / 4;
    nlohmann::json spec = {{"rounds",
                            {{"count", rounds},
                             {"goal_count", goal},
                             {"over_selection", 1.3},
                             {"pool_min", device_count / 2},
                             {"selecting_ms_max", 500},
                             {"collecting_ms_max", 4'000},
                             {"goal_count_min", 2},
                             {"attempts_max", 100}}},
                           {"privacy", {{"level", "none"}}}};
    const auto job = fleet_->admin().create_job(flat_model(kValues), spec);
    ASSERT_TRUE(test::is_ok(job));
    OneHotAudit audit;
    if (disturb) audit.hold_from(ModelVersion(rounds - 1));
    std::vector<std::unique_ptr<RawDevice>> devices;
    for (uint32_t i = 0; i < device_count; ++i) {
      devices.push_back(fleet_->enrolled_device());
      ASSERT_TRUE(devices.back() != nullptr) << fleet_->logs();
    }
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < device_count; ++i)
      threads.emplace_back([&, i] { take_part(*devices[i], i, kValues, audit); });
    const Instant until = os::monotonic_now() + kJobMax;
    for (bool goes_on = true; !HasFatalFailure();) {
      const auto shown = fleet_->admin().ask("GET", "/admin/v1/jobs/" + *job);
      const std::string state = shown ? (*shown)["state"].get<std::string>() : "unknown";
      if (state == "completed" || state == "failed") break;
      if (state == "unknown" && !test::is_ok(fleet_->leader())) break;
      if (os::monotonic_now() > until) {
        ADD_FAILURE() << "the job does not end\n" << fleet_->logs();
        break;
      }
      audit.wait_for_receipts(1 + prng_.below(4));
      if (goes_on && state == "running" && disturb) goes_on = disturb() && !HasFailure();
      if (!goes_on) audit.release();
    }
    audit.finish();
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(test::is_ok(fleet_->leader()));
    audit.check(fleet_->admin(), *job, rounds, device_count);
    if (HasFailure()) std::fprintf(stderr, "%s\n", fleet_->logs().c_str());
  }

  // Rounds with secure aggregation: all devices, one after the other round; `disturb` while they are at it.
  void run_masked(uint32_t device_count, const std::function<void()>& disturb = {}) {
    nlohmann::json spec = {{"rounds",
                            {{"count", 1},
                             {"goal_count", device_count},
                             {"goal_count_min", 4},
                             {"pool_min", device_count},
                             {"collecting_ms_max", 20'000},
                             {"retry_delay_ms", 100},
                             {"attempts_max", 10}}},
                           {"privacy",
                            {{"level", "active"},
                             {"cohort_min", 4},
                             {"corrupt_share", 0.1},
                             {"dropout_share", 0.1},
                             {"phase_ms_max", 5'000}}}};
    const auto job = fleet_->admin().create_job(flat_model(kValues), spec);
    ASSERT_TRUE(test::is_ok(job));
    std::vector<std::unique_ptr<RawDevice>> devices;
    for (uint32_t i = 0; i < device_count; ++i) {
      devices.push_back(fleet_->enrolled_device(i % 2 == 0 ? KeyAlgorithm::ed25519 : KeyAlgorithm::p256));
      ASSERT_TRUE(devices.back() != nullptr) << fleet_->logs();
    }
    std::atomic<bool> over{false};
    std::vector<std::string> errors(device_count);
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < device_count; ++i) {
      threads.emplace_back([&, i] {
        const std::vector<float> values = one_hot(kValues, i);
        while (!over) {  // an attempt that is lost is made again
          const auto assignment = devices[i]->wait_for_assignment(Millis(1'000), 1'000);
          if (!assignment) continue;
          const Status done = take_masked_part(*devices[i], *assignment, {.values = values, .asks_apart = i % 3 == 0});
          if (!done) errors[i] = done.error().message();
          else return;
        }
      });
    }
    if (disturb) disturb();
    const Instant until = os::monotonic_now() + kJobMax;
    std::string state;
    while (os::monotonic_now() < until && state != "completed" && state != "failed") {
      const auto shown = fleet_->admin().ask("GET", "/admin/v1/jobs/" + *job);
      if (shown) state = (*shown)["state"].get<std::string>();
      else if (!test::is_ok(fleet_->leader())) break;
    }
    over = true;
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(state, "completed") << fleet_->logs() << ::testing::PrintToString(errors);
    OneHotAudit().check(fleet_->admin(), *job, 1,
                        device_count);  // one that was too slow may be missing, nobody is there twice
  }

  std::unique_ptr<LocalFleet> fleet_;
  Prng prng_{20261123};
};

TEST_F(Fleet, SharesARoundAmongItsServers) {
  start(4);
  run(16, 4, {});
  // Each had devices: the balancer sends them everywhere.
  for (size_t i = 0; i < fleet_->server_count(); ++i) {
    Admin admin(fleet_->server(i));
    const auto metrics = admin.call("GET", "/metrics");
    ASSERT_TRUE(test::is_ok(metrics));
    EXPECT_NE(as_text(metrics->body).find("coterie_updates_total{outcome=\"accepted\"}"), std::string::npos);
  }
}

TEST_F(Fleet, AggregatesSecurelyThoughEveryRequestArrivesElsewhere) {
  start(3);
  run_masked(9);
}

// The owner of the sessions is gone, and with it what it knew: the attempt is lost, the next one has fresh keys.
TEST_F(Fleet, ACohortWhoseOwnerIsKilledFormsAgain) {
  start(2);
  run_masked(9, [&] {
    const auto leader = fleet_->leader();
    ASSERT_TRUE(test::is_ok(leader));
    ASSERT_TRUE(fleet_->scheduler(*leader).wait_for_log("\"round_collecting\"", kPatience));
    fleet_->kill_scheduler(*leader);
    EXPECT_TRUE(test::is_ok(fleet_->restart_scheduler(*leader)));
  });
}

TEST_F(Fleet, KilledServersLoseNobodyWhoWasToldAccepted) {
  start(3);
  uint32_t kills = 0;
  run(12, 8, [&] {
    const size_t i = prng_.below(fleet_->server_count());
    fleet_->kill_server(i);
    EXPECT_TRUE(test::is_ok(fleet_->restart_server(i)));
    return ++kills < 5;
  });
  EXPECT_EQ(kills, 5u);
}

TEST_F(Fleet, GrowsFromTwoToSixAndShrinksToTwoInMidRound) {
  start(2);
  uint32_t step = 0;
  Millis slowest{0};
  run(16, 32, [&] {  // half of it is enough, unless other programs slow the start of servers
    ++step;
    if (step <= 4) {
      EXPECT_TRUE(test::is_ok(fleet_->add_server()));
      return true;
    }
    const auto took = fleet_->drain_server(step - 5);  // those who were there first
    EXPECT_TRUE(test::is_ok(took)) << fleet_->server(step - 5).log();
    if (took) slowest = std::max(slowest, *took);
    return step < 8;
  });
  EXPECT_EQ(step, 8u) << "the job was over too soon";
  EXPECT_LE(slowest, kDrainMax);
  std::printf("drained four servers in mid-round, the slowest in %lld ms\n", static_cast<long long>(slowest.count()));
}

TEST_F(Fleet, AJobThatWantsThreeServersWaitsForTheThird) {
  start(2);
  nlohmann::json spec = spec_for(1, 1);
  spec["rounds"]["nodes_min"] = 3;
  const auto job = fleet_->admin().create_job(flat_model(kValues), spec);
  ASSERT_TRUE(test::is_ok(job));
  const auto device = fleet_->enrolled_device();
  ASSERT_TRUE(device != nullptr);
  const auto ask = [&](int64_t hold_ms) {
    return device->api().check_in(device->id(), {Population("default"), "test", static_cast<uint32_t>(hold_ms)});
  };
  EXPECT_TRUE(std::holds_alternative<RetryWindow>(ask(1'500))) << "with two servers nobody is asked for an update";
  ASSERT_TRUE(test::is_ok(fleet_->add_server()));
  const Instant until = os::monotonic_now() + kPatience;
  bool is_asked = false;
  while (!is_asked && os::monotonic_now() < until) is_asked = std::holds_alternative<Assignment>(ask(2'000));
  EXPECT_TRUE(is_asked) << fleet_->logs();
}

TEST_F(Fleet, ASchedulerThatStandsBySaysWhenToAskAgain) {
  start(1);
  if (IsSkipped() || HasFatalFailure()) return;
  const auto leader = fleet_->leader();
  ASSERT_TRUE(test::is_ok(leader));
  ServerProcess& standby = fleet_->scheduler(1 - *leader);
  for (const std::string target : {"/readyz", "/admin/v1/jobs"}) {
    RawHttp connection(standby.admin_url(), standby.ca_pem());
    ASSERT_TRUE(test::is_ok(connection.send("GET " + target + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " +
                                            standby.admin_token() + "\r\n\r\n")));
    const auto answer = connection.read_answer(kPatience);
    ASSERT_TRUE(test::is_ok(answer));
    EXPECT_EQ(status_of(*answer), 503) << target;
    EXPECT_NE(answer->find("\r\nRetry-After: "), std::string::npos) << *answer;
  }
}

// Devices check in at one server; another that has seen none of them tells windows for them all.
TEST_F(Fleet, ServersTellWindowsAsWideAsThePopulationOfAllOfThem) {
  start(2, "\"selection\": {\"checkins_per_second_max\": 1}, \"overload\": {\"device_requests_per_second\": 0}");
  if (IsSkipped() || HasFatalFailure()) return;
  const auto token = fleet_->admin().create_token(2);
  ASSERT_TRUE(test::is_ok(token));
  const auto window_at = [](RawDevice& device, uint32_t hold_ms = 0) {
    const auto answer = device.api().check_in(device.id(), {Population("default"), "test", hold_ms});
    const auto* window = std::get_if<RetryWindow>(&answer);
    return window == nullptr ? 0 : window->max_ms;
  };
  RawDevice many(fleet_->server(0).device_url(), fleet_->server(0).ca_pem());
  RawDevice few(fleet_->server(1).device_url(), fleet_->server(1).ca_pem());
  ASSERT_TRUE(test::is_ok(many.enroll(*token)));
  ASSERT_TRUE(test::is_ok(few.enroll(*token)));
  EXPECT_LE(window_at(few), 5'000u);
  for (int i = 0; i < 500; ++i) ASSERT_GT(window_at(many), 0u) << i;  // each stands for another device
  uint32_t widest = 0;
  for (int i = 0; i < 60 && widest < 250'000; ++i) widest = window_at(few, 500);  // these alone would be 61 seconds
  EXPECT_GE(widest, 250'000u) << "about 500 seconds for 500 devices that are away, of 2 servers";
}

}  // namespace
}  // namespace coterie::integration
