// A job with noise on a real server: clips are enforced, every round is in the ledger, SIGKILL loses none of it, and
// the job ends before it would pass its budget.
#include <cmath>
#include <thread>

#include "secure/dp/account/account.h"
#include "tests/integration/support/fixture.h"

namespace coterie::integration {
namespace {

constexpr uint32_t kDevices = 3;
constexpr size_t kValues = 16;
constexpr double kMultiplier = 0.7;
constexpr double kDelta = 1e-6;
constexpr uint64_t kReleases = 3;  // that the budget takes

// On a fine grid, as the server's.
double epsilon_of(uint64_t releases) {
  return account_for({{DiscreteGaussianNoise{kMultiplier * 1e6, 1e6, false}, Sampling::none(), releases}}, kDelta)
      ->epsilon;
}

class Noise : public ServerTest {
 protected:
  std::string create_job() {
    nlohmann::json spec = spec_for(kDevices, 10);
    spec["update"] = {{"clip_l2", 1}, {"weight_max", 1}};
    spec["privacy"] = {{"level", "none"},
                       {"noise_multiplier", kMultiplier},
                       {"target_delta", kDelta},
                       {"epsilon_budget", epsilon_of(kReleases) * 1.001}};
    const auto job = admin_->create_job(flat_model(kValues), spec);
    EXPECT_TRUE(test::is_ok(job));
    return job.value_or("");
  }
  nlohmann::json privacy(const std::string& job) {
    const auto answer = admin_->ask("GET", "/admin/v1/jobs/" + job);
    EXPECT_TRUE(test::is_ok(answer));
    return answer ? (*answer)["privacy"] : nlohmann::json();
  }
  // Every device checks in and sends a unit vector; the first tries one that is not clipped before.
  void take_part(std::vector<std::unique_ptr<RawDevice>>& devices) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < devices.size(); ++i) {
      threads.emplace_back([&, i] {
        const auto assignment = devices[i]->wait_for_assignment(Millis(5'000), 50);
        ASSERT_TRUE(test::is_ok(assignment));
        if (i == 0) {
          std::vector<float> large(kValues, 1.0f);
          const Error refused = failure_of(devices[i]->upload(*assignment, large));
          EXPECT_EQ(refused.code(), ErrorCode::malformed);
          EXPECT_NE(refused.message().find("clip"), std::string::npos) << refused.message();
        }
        const auto outcome = devices[i]->upload_until_decided(*assignment, one_hot(kValues, 0));
        EXPECT_TRUE(std::holds_alternative<Receipt>(outcome));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_F(Noise, IsAccountedForThroughKillsAndEndsTheJobAtItsBudget) {
  start();
  const std::string job = create_job();
  ASSERT_EQ(privacy(job)["epsilon"], 0);
  ASSERT_EQ(privacy(job)["accountant"], "none");
  std::vector<std::unique_ptr<RawDevice>> devices;
  for (uint32_t i = 0; i < kDevices; ++i) devices.push_back(enrolled_device());

  std::vector<float> before(kValues);
  for (uint64_t round = 1; round <= kReleases; ++round) {
    take_part(devices);
    ASSERT_TRUE(wait_for_model(round));
    const auto weights = admin_->download_weights(job, round);
    ASSERT_TRUE(test::is_ok(weights));
    double squares = 0;
    for (size_t i = 1; i < kValues; ++i) squares += std::pow(static_cast<double>((*weights)[i] - before[i]), 2);
    const double sigma = kMultiplier / kDevices;
    EXPECT_GT(std::sqrt(squares / (kValues - 1)), sigma / 4) << "no device moved these: only noise did";
    EXPECT_LT(std::sqrt(squares / (kValues - 1)), sigma * 4);
    before = *weights;

    const nlohmann::json spent = privacy(job);
    EXPECT_NEAR(spent["epsilon"].get<double>(), epsilon_of(round), 1e-3);
    EXPECT_EQ(spent["releases"], round);
    EXPECT_EQ(spent["releases_open"], 0);
    EXPECT_EQ(spent["accountant"], "exact");
    EXPECT_EQ(spent["ledger"]["records"], 2 * round);
    EXPECT_GE(spent["assumptions"].size(), 8u);
    server_->kill();
    start();
    if (HasFatalFailure()) return;
    EXPECT_EQ(privacy(job), spent) << "after SIGKILL";
  }

  ASSERT_TRUE(wait_for_job(job, "failed"));
  const auto answer = admin_->ask("GET", "/admin/v1/jobs/" + job);
  const std::string reason = (*answer)["reason"];
  EXPECT_NE(reason.find("the privacy budget is used up"), std::string::npos) << reason;
  EXPECT_EQ((*answer)["privacy"]["stop"], reason);
  EXPECT_EQ((*answer)["rounds_done"], kReleases);
  EXPECT_LE((*answer)["privacy"]["epsilon"].get<double>(), (*answer)["privacy"]["epsilon_budget"].get<double>());
  EXPECT_EQ((*admin_->rounds(job))["rounds"].size(), kReleases) << "no further round was begun";
}

TEST_F(Noise, ThatCannotKeepItsPromiseIsRefused) {
  start();
  nlohmann::json spec = spec_for(kDevices, 10);
  spec["update"] = {{"clip_l2", 1}, {"weight_max", 1}};
  spec["privacy"] = {{"level", "none"}, {"noise_multiplier", 0.1}, {"target_delta", kDelta}, {"epsilon_budget", 1}};
  EXPECT_ERROR(admin_->create_job(flat_model(kValues), spec), ErrorCode::invalid_argument, "not one round fits");
  spec["privacy"]["noise_multiplier"] = 10'000;
  spec["update"]["clip_l2"] = 1e6;
  EXPECT_ERROR(admin_->create_job(flat_model(kValues), spec), ErrorCode::invalid_argument, "lower update.clip_l2");
}

}  // namespace
}  // namespace coterie::integration
