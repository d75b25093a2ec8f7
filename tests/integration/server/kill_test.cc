// SIGKILL at any moment, restart, go on: whoever was told "accepted" is in the model, nobody twice.
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <map>
#include <set>
#include <thread>

#include "base/random.h"
#include "tests/integration/support/fixture.h"

namespace coterie::testing {
namespace {

constexpr uint32_t kDevices = 12;
constexpr size_t kValues = 16;
constexpr Millis kReceiptsMax{3'000};  // after the last round there are none to wait for

// What the devices know: which attempts they hold receipts of; and a door that is shut while the server is down.
class Audit {
 public:
  void acknowledged(const RoundKey& key, uint32_t device) {
    const std::lock_guard lock(mutex_);
    receipts_[key].insert(device);
    ++count_;
    changed_.notify_all();
  }
  void wait_for_receipts(uint64_t more) {
    std::unique_lock lock(mutex_);
    const uint64_t goal = count_ + more;
    changed_.wait_for(lock, kReceiptsMax, [&] { return count_ >= goal || finished_; });
  }
  void set_open(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  // Returns false when there is nothing left to do.
  bool wait_until_open() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return open_ || finished_; });
    return !finished_;
  }
  void finish() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }
  const std::map<RoundKey, std::set<uint32_t>>& receipts() const { return receipts_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RoundKey, std::set<uint32_t>> receipts_;
  uint64_t count_ = 0;
  bool open_ = true;
  bool finished_ = false;
};

class Kill : public ServerTest {
 protected:
  // Takes part in rounds until the audit is over, whatever happens to the server.
  static void take_part(RawDevice& device, uint32_t index, Audit& audit) {
    while (audit.wait_until_open()) {
      const auto answer = device.api().check_in(device.id(), {Population("default"), "test", 1'000});
      const auto* assignment = std::get_if<Assignment>(&answer);
      if (assignment == nullptr) continue;
      const auto outcome = device.upload_until_decided(*assignment, one_hot(kValues, index));
      if (std::holds_alternative<Receipt>(outcome)) audit.acknowledged(assignment->round, index);
    }
  }

  // Who is in the sum of the round that made this version, read off the models around it.
  std::set<uint32_t> counted_in(const std::string& job, uint64_t version, uint64_t accepted) {
    const auto before = admin_->download_weights(job, version - 1);
    const auto after = admin_->download_weights(job, version);
    std::set<uint32_t> counted;
    if (!before || !after) return counted;
    for (uint32_t i = 0; i < kDevices; ++i) {
      const double times = static_cast<double>((*after)[i] - (*before)[i]) * static_cast<double>(accepted);
      EXPECT_NEAR(times, std::round(times), 1e-3);
      EXPECT_LT(times, 1.5) << "device " << i << " is counted more than once in version " << version;
      if (times > 0.5) counted.insert(i);
    }
    return counted;
  }
};

TEST_F(Kill, InMidRoundLosesNobodyWhoWasToldAcceptedAndCountsNobodyTwice) {
  constexpr uint32_t kRounds = 8;
  constexpr uint64_t kSeed = 20261121;
  Prng prng(kSeed);
  start();
  nlohmann::json spec = spec_for(kDevices - 2, kRounds);
  spec["rounds"]["over_selection"] = 1.2;
  spec["rounds"]["pool_min"] = 2;
  spec["rounds"]["selecting_ms_max"] = 200;
  spec["rounds"]["collecting_ms_max"] = 2'000;
  spec["rounds"]["goal_count_min"] = 2;
  const auto job = admin_->create_job(flat_model(kValues), spec);
  ASSERT_TRUE(test::is_ok(job));
  Audit audit;
  std::vector<std::unique_ptr<RawDevice>> devices;
  for (uint32_t i = 0; i < kDevices; ++i) devices.push_back(enrolled_device());
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kDevices; ++i) {
    threads.emplace_back([&, i] { take_part(*devices[i], i, audit); });
  }
  uint32_t kills = 0;
  for (; kills < 25; ++kills) {
    audit.wait_for_receipts(prng.below(9));
    const auto state = admin_->ask("GET", "/admin/v1/jobs/" + *job);
    if (state && (*state)["state"] == "completed") break;
    audit.set_open(false);
    server_->kill();
    start();
    if (HasFatalFailure()) break;
    audit.set_open(true);
  }
  while (!HasFatalFailure()) {
    const auto state = admin_->ask("GET", "/admin/v1/jobs/" + *job);
    ASSERT_TRUE(test::is_ok(state));
    if ((*state)["state"] != "running") break;
    audit.wait_for_receipts(1);
  }
  audit.finish();
  for (std::thread& thread : threads) thread.join();

  EXPECT_GE(kills, 5u) << "seed " << kSeed << ": the job was over before the server had been killed often enough";
  const auto rounds = admin_->rounds(*job);
  ASSERT_TRUE(test::is_ok(rounds));
  EXPECT_EQ((*rounds)["state"], "completed");
  std::map<RoundKey, std::set<uint32_t>> counted;
  for (const auto& round : (*rounds)["rounds"]) {
    if (round["state"] != "done") continue;
    const RoundKey key{RoundId(round["round"].get<uint64_t>()), Attempt(round["attempt"].get<uint32_t>())};
    const uint64_t accepted = round["accepted"];
    counted[key] = counted_in(*job, round["number"].get<uint64_t>(), accepted);
    EXPECT_EQ(counted[key].size(), accepted) << "round " << round["number"];
  }
  EXPECT_EQ(counted.size(), kRounds);
  for (const auto& [key, devices_told] : audit.receipts()) {
    for (uint32_t device : devices_told) {
      EXPECT_TRUE(counted[key].contains(device)) << "seed " << kSeed << ": device " << device << " holds a receipt of round "
                                                 << key.round.value() << " attempt " << key.attempt.value();
    }
  }
  RecordProperty("kills", static_cast<int>(kills));
}

TEST_F(Kill, BetweenRoundsKeepsJobsTokensDevicesAndModels) {
  start();
  const auto job = admin_->create_job(flat_model(kValues), spec_for(1, 2));
  ASSERT_TRUE(test::is_ok(job));
  const auto device = enrolled_device();
  const auto first = device->wait_for_assignment(kPatience);
  ASSERT_TRUE(test::is_ok(first));
  ASSERT_TRUE(std::holds_alternative<Receipt>(device->upload_until_decided(*first, one_hot(kValues, 3))));
  ASSERT_TRUE(wait_for_model(1));
  server_->kill();
  start();
  const auto second = device->wait_for_assignment(kPatience, 1);
  ASSERT_TRUE(test::is_ok(second));
  EXPECT_EQ(second->model_version, ModelVersion(1));
  ASSERT_TRUE(std::holds_alternative<Receipt>(device->upload_until_decided(*second, one_hot(kValues, 3))));
  ASSERT_TRUE(wait_for_model(2));
  const auto weights = admin_->download_weights(*job, 2);
  ASSERT_TRUE(test::is_ok(weights));
  EXPECT_FLOAT_EQ((*weights)[3], 2.0f);
}

}  // namespace
}  // namespace coterie::testing
