// Requests of a real round, captured and sent again: to the server that had them, to another one, after both were
// killed and started anew, and after the round. Nobody is counted twice, whoever has a receipt gets the same again, and
// no token is used up.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "tests/chaos/stride.h"
#include "tests/integration/support/capture.h"
#include "tests/integration/support/fixture.h"
#include "tests/integration/support/local_fleet.h"
#include "tests/integration/support/masked_device.h"
#include "tests/integration/support/one_hot_audit.h"

namespace coterie::integration {
namespace {

constexpr uint32_t kDevices = 12;
constexpr size_t kValues = 32;
constexpr size_t kNodes = 2;  // as begin() names them
constexpr size_t kConnections = 4;
constexpr Millis kHold{100};              // of a check-in: sent again it may be held so long
constexpr uint32_t kHoldForPool = 1'000;  // ms, of devices that must wait together
constexpr int kFailuresMax = 1'000;       // of a check-in, while its node is started again
constexpr uint32_t kTokenUses = 1'000;
constexpr uint64_t kReplays = chaos::kIsNight ? 102'400 : 1'920;
constexpr uint64_t kTimes = 8;                                  // when some of them are sent
constexpr uint64_t kPart = kReplays / kTimes / kNodes / 2 / 2;  // own and others', as they were and signed anew
static_assert(kPart * kTimes * kNodes * 2 * 2 == kReplays);

class Replay : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::PostgresServer::is_installed())
      GTEST_SKIP() << "PostgreSQL is not installed: apt-get install postgresql";
    auto fleet = LocalFleet::start({.schedulers = 1, .servers = kNodes, .config = {}});
    ASSERT_TRUE(test::is_ok(fleet));
    fleet_ = std::move(*fleet);
  }

  void begin(nlohmann::json spec) {
    const auto job = fleet_->admin().create_job(flat_model(kValues), std::move(spec));
    ASSERT_TRUE(test::is_ok(job));
    job_ = *job;
    const auto token = fleet_->admin().create_token(kTokenUses);
    ASSERT_TRUE(test::is_ok(token));
    for (uint32_t i = 0; i < kDevices; ++i) {
      const size_t node = i % kNodes;
      devices_.push_back(std::make_unique<RawDevice>(capture_.way_to({&fleet_->server(0), &fleet_->server(1)}, node),
                                                     i % 3 == 0 ? KeyAlgorithm::p256 : KeyAlgorithm::ed25519));
      ASSERT_TRUE(test::is_ok(devices_.back()->enroll(*token)));
    }
  }

  // A part of all replays: to the node that had the request first and to the other one, as it was and, of updates and
  // downloads, signed anew by its device.
  void replay_some(const std::string& when) {
    ReplayTally tally;
    const std::vector<CapturedRequest> all = capture_.requests();
    for (size_t node = 0; node < kNodes; ++node) {
      std::vector<CapturedRequest> own, others;
      for (const CapturedRequest& request : all) (request.node == node ? own : others).push_back(request);
      for (std::vector<CapturedRequest>* requests : {&own, &others}) {
        tally += replay(fleet_->server(node), *requests, kPart, kConnections);
        std::erase_if(*requests, [](const CapturedRequest& request) {
          return request.kind() == "checkins" || request.kind() == "enrollments";
        });
        tally += replay(fleet_->server(node), *requests, kPart, kConnections,
                        [&](const CapturedRequest& request) { return anew(request); });
      }
    }
    EXPECT_EQ(tally.other_receipts, 0u);
    EXPECT_EQ(tally.count("500"), 0u);
    EXPECT_EQ(tally.unanswered, 0u);
    std::printf("%s: %llu sent,", when.c_str(), static_cast<unsigned long long>(tally.sent));
    for (const auto& [status, count] : tally.statuses)
      std::printf(" %llu x %s,", static_cast<unsigned long long>(count), status.c_str());
    std::printf(" %llu the same receipt\n", static_cast<unsigned long long>(tally.receipts));
    std::fflush(stdout);
    sum_ += tally;
  }
  CapturedRequest anew(const CapturedRequest& request) const {
    const auto device =
        std::ranges::find(devices_, request.header("Coterie-Device"), [](const auto& d) { return d->id().hex(); });
    COT_ASSERT(device != devices_.end());
    return signed_anew(request, (*device)->id(), (*device)->signer());
  }
  void restart_nodes() {
    for (size_t node = 0; node < kNodes; ++node) {
      fleet_->kill_server(node);
      ASSERT_TRUE(test::is_ok(fleet_->restart_server(node)));
    }
  }
  bool wait_for_version(uint64_t version) {
    const Instant until = os::monotonic_now() + kPatience;
    while (os::monotonic_now() < until) {
      const auto shown = fleet_->admin().ask("GET", "/admin/v1/jobs/" + job_);
      if (shown && (*shown)["rounds_done"].get<uint64_t>() >= version) return true;
    }
    ADD_FAILURE() << "round " << version << " is not done\n" << fleet_->logs();
    return false;
  }
  void check(uint64_t rounds) {
    audit_.check(fleet_->admin(), job_, rounds, kDevices);
    const auto tokens = fleet_->admin().ask("GET", "/admin/v1/enrollment-tokens");
    ASSERT_TRUE(test::is_ok(tokens));
    ASSERT_EQ((*tokens)["tokens"].size(), 1u);
    EXPECT_EQ((*tokens)["tokens"][0]["uses_left"], kTokenUses - kDevices);
    EXPECT_GT(sum_.count("401"), 0u) << "a request that is sent again to the same process is known";
    std::printf(
        "%llu requests captured, sent %llu times: %llu unauthenticated, %llu the same receipt, none counted twice\n",
        static_cast<unsigned long long>(capture_.requests().size()), static_cast<unsigned long long>(sum_.sent),
        static_cast<unsigned long long>(sum_.count("401")), static_cast<unsigned long long>(sum_.receipts));
  }

  std::unique_ptr<LocalFleet> fleet_;
  Capture capture_;
  std::vector<std::unique_ptr<RawDevice>> devices_;
  OneHotAudit audit_;
  ReplayTally sum_;
  std::string job_;
};

TEST_F(Replay, OfARoundCountsNobodyTwice) {
  constexpr uint32_t kRounds = 2;
  // A check-in whose answer was lost with its node took a ticket, and the device takes another one: there are enough.
  begin({{"rounds",
          {{"count", kRounds},
           {"goal_count", kDevices},
           {"goal_count_min", kDevices},
           {"pool_min", 1},
           {"over_selection", 4.0},
           {"collecting_ms_max", 600'000}}},
         {"privacy", {{"level", "none"}}}});
  ASSERT_FALSE(HasFailure());
  for (uint32_t round = 1; round <= kRounds; ++round) {
    // All but the last, so that the round goes on.
    const auto take_part = [&](uint32_t i) {
      const auto assignment = devices_[i]->wait_for_assignment(kHold, kFailuresMax);
      ASSERT_TRUE(test::is_ok(assignment));
      (void)devices_[i]->api().fetch_plan(devices_[i]->id(), assignment->plan, assignment->plan_bytes);
      ASSERT_TRUE(test::is_ok(devices_[i]->fetch_weights(*assignment)));
      if (round == 1 && i + 1 == kDevices) {
        replay_some("all but one are accepted");
        replay_some("... again");
        restart_nodes();
        replay_some("after a restart");
        restart_nodes();
        replay_some("after another");
      }
      const auto outcome = devices_[i]->upload_until_decided(*assignment, one_hot(kValues, i));
      ASSERT_TRUE(std::holds_alternative<Receipt>(outcome));
      audit_.acknowledged(assignment->round, i);
    };
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i + 1 < kDevices; ++i) threads.emplace_back([&, i] { take_part(i); });
    for (std::thread& thread : threads) thread.join();
    ASSERT_FALSE(HasFatalFailure());
    if (round > 1) replay_some("in the next round");
    take_part(kDevices - 1);
    if (HasFailure() || !wait_for_version(round)) return;
    replay_some("after round " + std::to_string(round));
    if (round < kRounds) continue;
    restart_nodes();
    replay_some("after the job and a restart");
  }
  check(kRounds);
  EXPECT_EQ(sum_.sent, kReplays);
  EXPECT_GT(sum_.receipts, 0u) << "whoever lost the answer gets it again";
}

// Within the window of time in which its signature is good, and to nodes that have never seen it.
TEST_F(Replay, OfACheckInIsRefusedByEveryNode) {
  begin({{"rounds",
          {{"count", 1},
           {"goal_count", kDevices},
           {"goal_count_min", kDevices},
           {"pool_min", 1},
           {"over_selection", 4.0},
           {"collecting_ms_max", 600'000}}},
         {"privacy", {{"level", "none"}}}});
  ASSERT_FALSE(HasFailure());
  for (const auto& device : devices_) ASSERT_TRUE(test::is_ok(device->wait_for_assignment(kHold, kFailuresMax)));
  std::vector<CapturedRequest> checkins = capture_.requests();
  std::erase_if(checkins, [](const CapturedRequest& r) { return r.kind() != "checkins" || r.status != 200; });
  ASSERT_GE(checkins.size(), kDevices);
  for (size_t node = 0; node < kNodes; ++node) {
    const ReplayTally tally = replay(fleet_->server(node), checkins, checkins.size(), kConnections);
    EXPECT_EQ(tally.sent, checkins.size());
    EXPECT_EQ(tally.count("401"), tally.sent) << "node " << node;
  }
  restart_nodes();
  for (size_t node = 0; node < kNodes; ++node) {
    const ReplayTally tally = replay(fleet_->server(node), checkins, checkins.size(), kConnections);
    EXPECT_EQ(tally.count("401") + tally.count("503"), tally.sent) << "node " << node << ", in its next life";
  }
  // Their own next check-ins are taken, wherever they go.
  for (const auto& device : devices_) EXPECT_TRUE(test::is_ok(device->wait_for_assignment(kHold, kFailuresMax)));
}

// Updates, and at night what a session is told and asked, arrive twice more, here and there, before their device
// goes on; later all of it again.
TEST_F(Replay, OfAMaskedRoundCountsNobodyTwice) {
  begin({{"rounds",
          {{"count", 1},
           {"goal_count", kDevices},
           {"goal_count_min", 4},
           {"pool_min", kDevices},
           {"collecting_ms_max", 20'000},
           {"retry_delay_ms", 100},
           {"attempts_max", 10}}},
         {"privacy",
          {{"level", "active"},
           {"cohort_min", 4},
           {"corrupt_share", 0.1},
           {"dropout_share", 0.1},
           {"phase_ms_max", 5'000}}}});
  ASSERT_FALSE(HasFailure());
  std::mutex mutex;
  ReplayTally echoes;
  capture_.on_answer([&](const CapturedRequest& request) {
    if (request.kind() != "updates" && !(chaos::kIsNight && request.kind() == "session")) return;
    for (size_t node = 0; node < kNodes; ++node) {
      const ReplayTally tally = replay(fleet_->server(node), {request}, 1, 1);
      const std::lock_guard lock(mutex);
      echoes += tally;
    }
  });
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kDevices; ++i) {
    threads.emplace_back([&, i] {
      const std::vector<float> values = one_hot(kValues, i);
      while (!is_over) {  // an attempt that is lost is made again
        const auto answer =
            devices_[i]->api().check_in(devices_[i]->id(), {Population("default"), "test", kHoldForPool});
        const auto* assignment = std::get_if<Assignment>(&answer);
        if (assignment != nullptr &&
            take_masked_part(*devices_[i], *assignment, {.values = values, .asks_apart = i % 3 == 0}))
          return;
      }
    });
  }
  const bool is_done = wait_for_version(1);
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(is_done);
  capture_.on_answer({});
  std::printf("at once:");
  for (const auto& [status, count] : echoes.statuses)
    std::printf(" %llu x %s,", static_cast<unsigned long long>(count), status.c_str());
  std::printf(" %llu the same receipt\n", static_cast<unsigned long long>(echoes.receipts));
  EXPECT_EQ(echoes.other_receipts, 0u);
  EXPECT_EQ(echoes.count("500"), 0u);
  // Another node does not know what this one has seen: it takes the update on, or has heard that the phase is over.
  EXPECT_GT(echoes.count("200") + echoes.count("409"), 0u);
  replay_some("after the masked round");
  restart_nodes();
  replay_some("after a restart");
  audit_.check(fleet_->admin(), job_, 1, kDevices);  // one that was too slow may be missing, nobody is there twice
  std::printf("masked: %llu sent twice more before their devices went on, %llu later; nobody is counted twice\n",
              static_cast<unsigned long long>(echoes.sent), static_cast<unsigned long long>(sum_.sent));
}

}  // namespace
}  // namespace coterie::integration
