// SIGKILL at any moment, restart, go on: whoever was told "accepted" is in the model, nobody twice.
#include <thread>

#include "base/random.h"
#include "tests/integration/support/fixture.h"
#include "tests/integration/support/one_hot_audit.h"

namespace coterie::integration {
namespace {

constexpr uint32_t kDevices = 12;
constexpr size_t kValues = 16;

class Kill : public ServerTest {};

TEST_F(Kill, InMidRoundLosesNobodyWhoWasToldAcceptedAndCountsNobodyTwice) {
  constexpr uint32_t kRounds = 8;
  constexpr uint32_t kKills = 12;
  constexpr uint64_t kSeed = 20261121;
  Prng prng(kSeed);
  start();
  nlohmann::json spec = spec_for(kDevices - 2, kRounds);
  spec["rounds"]["over_selection"] = 1.2;
  spec["rounds"]["pool_min"] = 2;
  spec["rounds"]["selecting_ms_max"] = 200;
  spec["rounds"]["collecting_ms_max"] = 2'000;
  spec["rounds"]["goal_count_min"] = 2;
  spec["rounds"]["attempts_max"] = 100;
  const auto job = admin_->create_job(flat_model(kValues), spec);
  ASSERT_TRUE(test::is_ok(job));
  OneHotAudit audit;
  audit.hold_from(ModelVersion(kRounds - 1));
  std::vector<std::unique_ptr<RawDevice>> devices;
  for (uint32_t i = 0; i < kDevices; ++i) devices.push_back(enrolled_device());
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kDevices; ++i) {
    threads.emplace_back([&, i] { take_part(*devices[i], i, kValues, audit); });
  }
  uint32_t kills = 0;
  for (; kills < kKills; ++kills) {
    audit.wait_for_receipts(prng.below(9));
    audit.set_open(false);
    server_->kill();
    start();
    if (HasFatalFailure()) break;
    audit.set_open(true);
  }
  audit.release();
  while (!HasFatalFailure()) {
    const auto state = admin_->ask("GET", "/admin/v1/jobs/" + *job);
    ASSERT_TRUE(test::is_ok(state));
    if ((*state)["state"] != "running") break;
    audit.wait_for_receipts(1);
  }
  audit.finish();
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(kills, kKills) << "seed " << kSeed;
  audit.check(*admin_, *job, kRounds, kDevices);
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
}  // namespace coterie::integration
