// The leader of a fleet is killed, or stands still until another leads, again and again in mid-round: another takes
// over in time, the one that wakes up late gives up and changes nothing, and the one-hot audit is exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "base/os/clock.h"
#include "base/random.h"
#include "tests/chaos/stride.h"
#include "tests/integration/support/fixture.h"
#include "tests/integration/support/local_fleet.h"
#include "tests/integration/support/one_hot_audit.h"

namespace coterie::integration {
namespace {

constexpr size_t kValues = 16;
constexpr uint32_t kDevices = 8;
constexpr uint64_t kSeed = 20261123;
constexpr int kExitLeadLost = 75;
constexpr Millis kTakeoverMax{15'000};
constexpr Millis kStopped{chaos::kIsNight ? 30'000 : 3'000};  // three leases
constexpr Millis kRoundMax{60'000};
constexpr uint32_t kKills = chaos::kIsNight ? 25 : 2;
constexpr uint32_t kStops = chaos::kIsNight ? 10 : 2;
// At night the lease is the product's own (10 s, renewed every 3 s), by day one that is over sooner.
constexpr const char* kLease = chaos::kIsNight ? R"("lease": {"ttl_ms": 10000, "renew_ms": 3000})"
                                               : R"("lease": {"ttl_ms": 1000, "renew_ms": 200})";

class Takeover : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::PostgresServer::is_installed())
      GTEST_SKIP() << "PostgreSQL is not installed: apt-get install postgresql";
    auto fleet = LocalFleet::start({.schedulers = 2, .servers = 2, .config = kLease});
    ASSERT_TRUE(test::is_ok(fleet));
    fleet_ = std::move(*fleet);
  }
  void TearDown() override {
    audit_.finish();
    for (std::thread& thread : threads_) thread.join();
  }

  void begin() {
    const auto job = fleet_->admin().create_job(flat_model(kValues), {{"rounds",
                                                                       {{"count", 100'000},
                                                                        {"goal_count", kDevices - 2},
                                                                        {"over_selection", 1.3},
                                                                        {"pool_min", 2},
                                                                        {"selecting_ms_max", 200},
                                                                        {"collecting_ms_max", 3'000},
                                                                        {"goal_count_min", 2},
                                                                        {"attempts_max", 1000}}},
                                                                      {"privacy", {{"level", "none"}}}});
    ASSERT_TRUE(test::is_ok(job));
    job_ = *job;
    for (uint32_t i = 0; i < kDevices; ++i) {
      devices_.push_back(fleet_->enrolled_device());
      ASSERT_TRUE(devices_.back() != nullptr) << fleet_->logs();
    }
    for (uint32_t i = 0; i < kDevices; ++i) {
      threads_.emplace_back([this, i] { take_part(*devices_[i], i, kValues, audit_); });
    }
  }

  // Until a round that had not begun before is collecting and some of its devices are accepted.
  bool wait_for_mid_round() {
    const Instant until = os::monotonic_now() + kRoundMax;
    std::optional<uint64_t> goal;
    while (os::monotonic_now() < until) {
      const auto shown = fleet_->admin().ask("GET", "/admin/v1/jobs/" + job_);
      if (shown) {
        const uint64_t done = (*shown)["rounds_done"];
        if (!goal) goal = done + 1;
        if (done >= *goal) {
          audit_.wait_for_receipts(1 + prng_.below(4));
          return true;
        }
      }
      audit_.wait_for_receipts(1);
    }
    ADD_FAILURE() << "no round is done\n" << fleet_->logs();
    return false;
  }

  // For kStopped from `begin` on, and until a round is done that `leading` leads.
  bool goes_on_without(ServerProcess& leading, Instant begin) {
    Admin admin(leading);
    std::optional<uint64_t> first;
    for (Instant now = begin; now - begin < kRoundMax; now = os::monotonic_now()) {
      const auto shown = admin.ask("GET", "/admin/v1/jobs/" + job_);
      if (shown) {
        const uint64_t done = (*shown)["rounds_done"];
        if (!first) first = done;
        if (done > *first && now - begin >= kStopped) return true;
      }
      audit_.wait_for_receipts(1);
    }
    return false;
  }

  // Stops the leader with `signal`; how long until the other leads.
  Millis take_over(int signal) {
    const auto leader = fleet_->leader();
    EXPECT_TRUE(test::is_ok(leader));
    if (!leader) return Millis(0);
    ServerProcess& other = fleet_->scheduler(1 - *leader);
    EXPECT_FALSE(other.wait_for_log("\"server_leads\"", Millis(0)));
    const Instant begin = os::monotonic_now();
    if (signal == SIGKILL) fleet_->kill_scheduler(*leader);
    else fleet_->scheduler(*leader).signal(signal);
    EXPECT_TRUE(other.wait_for_log("\"server_leads\"", kTakeoverMax)) << fleet_->logs();
    const Millis took = std::chrono::duration_cast<Millis>(os::monotonic_now() - begin);
    if (signal == SIGSTOP) {
      // Rounds go on without it; then, as late as it is, it does at once whatever it was about to do.
      EXPECT_TRUE(goes_on_without(other, begin)) << "no round is done while it stands still\n" << fleet_->logs();
      fleet_->scheduler(*leader).signal(SIGCONT);
      EXPECT_EQ(fleet_->scheduler(*leader).wait(), kExitLeadLost) << fleet_->scheduler(*leader).log();
    }
    EXPECT_TRUE(test::is_ok(fleet_->restart_scheduler(*leader)));
    EXPECT_TRUE(test::is_ok(fleet_->leader()));
    return took;
  }

  void run(int signal, const char* what, uint32_t times) {
    begin();
    std::vector<Millis> took;
    while (!HasFailure() && took.size() < times && wait_for_mid_round()) took.push_back(take_over(signal));
    ASSERT_EQ(took.size(), times);
    ASSERT_TRUE(wait_for_mid_round());
    audit_.finish();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    const uint64_t rounds = audit_.check_done(fleet_->admin(), job_, kDevices);
    EXPECT_GT(rounds, times);
    std::ranges::sort(took);
    const auto ms = [](Millis time) { return static_cast<long long>(time.count()); };
    std::printf(
        "seed %llu: %u leaders %s in mid-round: taken over in %lld ms (fastest), %lld (median), %lld (slowest); %llu "
        "rounds audited\n",
        static_cast<unsigned long long>(kSeed), times, what, ms(took.front()), ms(took[took.size() / 2]),
        ms(took.back()), static_cast<unsigned long long>(rounds));
    EXPECT_LE(took.back(), kTakeoverMax);
  }

  std::unique_ptr<LocalFleet> fleet_;
  std::vector<std::unique_ptr<RawDevice>> devices_;
  std::vector<std::thread> threads_;
  OneHotAudit audit_;
  std::string job_;
  Prng prng_{kSeed};
};

TEST_F(Takeover, OfKilledLeadersComesInTime) { run(SIGKILL, "killed", kKills); }

TEST_F(Takeover, OfStoppedLeadersComesInTimeAndTheyChangeNothingLater) { run(SIGSTOP, "stopped", kStops); }

}  // namespace
}  // namespace coterie::integration
