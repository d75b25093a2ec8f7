#include "tools/debug/judge_record.h"

#include <gmock/gmock.h>

#include <tuple>

#include "device_sdk/watch/watch.h"
#include "tests/unit/tools/debug/debugged_training.h"

namespace coterie::test {
namespace {

using HitRow = std::tuple<std::string, std::string, std::string, uint64_t, uint64_t, double>;

std::vector<HitRow> rows_of(const WatchHits& hits) {
  std::vector<HitRow> rows;
  for (const WatchHit& hit : hits.hits()) {
    rows.emplace_back(hit.check, hit.layer, hit.tensor, hit.first_step, hit.last_step, hit.value);
  }
  return rows;
}

// Each check, with thresholds that something passes.
WatchPlan plan_of_all() {
  WatchPlan plan{.hits_max = 10'000, .checks = {}};
  for (const Check& check : all_checks()) {
    WatchedCheck& watched = plan.checks.emplace_back(check);
    watched.steps = 0;
    for (const CheckSetting& setting : check.settings) {
      if (setting.name == "mean_magnitude_above" || setting.name == "deviations_above") watched.set(setting.name, 0);
      if (setting.name == "mean_magnitude_below") watched.set(setting.name, 1);
      if (setting.name == "ratio_above" || setting.name == "distance_above") watched.set(setting.name, 0);
      if (setting.name == "ratio_below") watched.set(setting.name, 10);
      if (setting.name == "window_steps" || setting.name == "window_examples") watched.set(setting.name, 8);
    }
  }
  return plan;
}

std::vector<HitRow> watched(const Model& model, TrainOptions options, ExampleSource& source) {
  options.joins_steps = false;
  Result<Trainer> trainer = Trainer::create(model, options, source);
  EXPECT_OK(trainer);
  const Result<std::vector<bool>> is_trained = trainable_tensors(model.graph(), options);
  EXPECT_OK(is_trained);
  Watch watch(model, plan_of_all(), *is_trained, 5, trainer->summary());
  while (!trainer->finished() && trainer->step(&watch)) watch.end_step(*trainer);
  return rows_of(watch.hits());
}

std::vector<HitRow> rechecked(const Model& model, const TrainOptions& options, ExampleSource& source) {
  const auto steps = debugged(model, options, source);
  WatchJudge judge(model, plan_of_all(), steps->is_trained(), 5, {});
  while (steps->next() && (steps->now() == nullptr || !steps->now()->has_failed())) {
    EXPECT_OK(steps->forward());
    judge_record(*steps->now(), judge);
  }
  return rows_of(judge.hits());
}

TEST(JudgeRecord, FindsWhatTheWatchOfARunningTrainingFinds) {
  for (const Model& model : {small_cnn(), tangled_net()}) {
    Examples source = examples_for(model);
    const TrainOptions options = debugged_options(0.05f);
    const std::vector<HitRow> expected = watched(model, options, source);
    EXPECT_GT(expected.size(), 20u);
    EXPECT_EQ(rechecked(model, options, source), expected) << model.graph().name;
  }
}

TEST(JudgeRecord, FindsTheOverflowInTheStepThatFails) {
  const Model model = small_cnn();
  Examples source = examples_for(model);
  const auto steps = debugged(model, debugged_options(1e9f), source);
  WatchPlan plan;
  plan.checks.emplace_back(*find_check("operator_overflow"));
  WatchJudge judge(model, plan, steps->is_trained(), 5, {});
  while (judge.hits().hits().empty()) {
    ASSERT_TRUE(steps->now() == nullptr || !steps->now()->has_failed()) << "it was not found";
    ASSERT_OK(steps->forward());
    judge_record(*steps->now(), judge);
  }
  EXPECT_EQ(judge.hits().hits()[0].first_step, steps->now()->step);
}

}  // namespace
}  // namespace coterie::test
