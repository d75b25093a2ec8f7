// Rules over cohorts against a real server process: what the server makes of masked rounds is what the rule makes, in
// the clear, of the means of the same cohorts.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "aggregation/robust/aggregation_settings.h"
#include "aggregation/robust/registry.h"
#include "secure/secagg/cohort_draw.h"
#include "tests/integration/support/fixture.h"
#include "tests/integration/support/masked_device.h"

namespace coterie::integration {
namespace {

constexpr Millis kHold{20'000};
constexpr uint32_t kDevices = 9, kCohorts = 3;
constexpr size_t kValues = 64;
constexpr uint32_t kLiar = 4;

// A round of nine devices in three cohorts.
nlohmann::json spec_of(const std::string& level, const std::string& rule) {
  return {{"rounds",
           {{"count", 1},
            {"goal_count", kDevices},
            {"goal_count_min", kDevices},
            {"pool_min", kDevices},
            {"collecting_ms_max", 20'000}}},
          {"privacy",
           {{"level", level},
            {"cohort_min", 3},
            {"cohort_max", 3},
            {"corrupt_share", 0.1},
            {"dropout_share", 0},
            {"phase_ms_max", 3'000}}},
          {"aggregation", {{"rule", rule}}}};
}

std::vector<float> update_of(uint32_t device) {
  std::vector<float> values(kValues);
  for (size_t i = 0; i < kValues; ++i) {
    values[i] = 0.01f * static_cast<float>((device * 37 + i * 11) % 50);
    if (device == kLiar) values[i] = -50;
  }
  return values;
}

class CohortRule : public ServerTest {
 protected:
  void SetUp() override { start(); }

  // The job, once all devices have taken part in its round.
  std::string run_round(const nlohmann::json& spec) {
    const auto job = admin_->create_job(flat_model(kValues), spec);
    EXPECT_TRUE(test::is_ok(job));
    if (!job) return "";
    while (devices_.size() < kDevices) devices_.push_back(enrolled_device());
    assignments_.resize(kDevices);
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < kDevices; ++i) {
      threads.emplace_back([this, i] {
        const auto assignment = devices_[i]->wait_for_assignment(kHold);
        ASSERT_TRUE(test::is_ok(assignment));
        assignments_[i] = *assignment;
        const std::vector<float> values = update_of(i);
        EXPECT_TRUE(
            test::is_ok(take_masked_part(*devices_[i], *assignment, {.values = values, .asks_apart = i % 2 == 0})));
      });
    }
    for (std::thread& thread : threads) thread.join();
    return *job;
  }

  // The means of the cohorts that the round drew.
  std::vector<std::vector<float>> means() const {
    std::vector<DeviceId> ids;
    for (const auto& device : devices_) ids.push_back(device->id());
    const secagg::CohortDraw draw{assignments_[0].model, assignments_[0].round.attempt};
    std::vector<std::vector<float>> means;
    for (const auto& cohort : secagg::drawn_cohorts(draw, ids, kCohorts, kDevices / kCohorts)) {
      std::vector<double> sum(kValues);
      for (const DeviceId& device : cohort) {
        const auto number = static_cast<uint32_t>(std::ranges::find(ids, device) - ids.begin());
        const std::vector<float> values = update_of(number);
        for (size_t i = 0; i < kValues; ++i) sum[i] += static_cast<double>(values[i]);
      }
      std::vector<float> mean(kValues);
      for (size_t i = 0; i < kValues; ++i) mean[i] = static_cast<float>(sum[i] / static_cast<double>(cohort.size()));
      means.push_back(std::move(mean));
    }
    return means;
  }
  std::vector<float> in_the_clear(const AggregationSettings& aggregation) const {
    const std::vector<std::vector<float>> cohorts = means();
    const std::vector<std::span<const float>> rows(cohorts.begin(), cohorts.end());
    std::vector<double> shares(rows.size());
    if (aggregation.rule->needs_distances()) {
      UpdateDistances distances(rows.size());
      distances.add(0, rows);
      const std::vector<double> weights(rows.size(), kDevices / kCohorts);
      aggregation.rule->choose(distances, weights, aggregation.values, shares);
    }
    std::vector<float> result(kValues);
    make_result(*aggregation.rule, {.rows = rows, .shares = shares, .settings = aggregation.values, .result = result});
    return result;
  }

  std::vector<std::unique_ptr<RawDevice>> devices_;
  std::vector<Assignment> assignments_;
};

TEST_F(CohortRule, MakesOfMaskedRoundsWhatItMakesOfTheirCohortsInTheClear) {
  for (const auto& [level, rule] : {std::pair{"masked", "geometric_median"}, std::pair{"active", "median"}}) {
    const std::string job = run_round(spec_of(level, rule));
    ASSERT_TRUE(wait_for_job(job, "completed")) << server_->log();
    const auto weights = admin_->download_weights(job, 1);
    ASSERT_TRUE(test::is_ok(weights));
    const std::vector<float> expected = in_the_clear(AggregationSettings::of(rule));
    for (size_t i = 0; i < kValues; ++i) {
      EXPECT_NEAR((*weights)[i], expected[i], 1e-5f) << level << ' ' << i;
      EXPECT_GT((*weights)[i], -0.5f) << "the mean of all would be near -5.4";
    }
  }
}

TEST_F(CohortRule, IsRefusedWhereThereAreTooFewCohorts) {
  nlohmann::json spec = spec_of("masked", "median");
  spec["privacy"]["cohort_max"] = 0;
  const auto job = admin_->create_job(flat_model(kValues), spec);
  ASSERT_FALSE(job);
  EXPECT_NE(job.error().message().find("cohort"), std::string::npos) << job.error().message();
}

}  // namespace
}  // namespace coterie::integration
