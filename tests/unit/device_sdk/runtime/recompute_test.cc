#include "device_sdk/runtime/recompute.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/random.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct StepText {
  std::vector<uint32_t> reads, writes;
  double cost = 1;
  uint32_t again_until = kNoStep;
};

StepSchedule schedule_of(const std::vector<StepText>& steps, const std::vector<uint64_t>& bytes) {
  StepSchedule schedule;
  for (const uint64_t size : bytes) schedule.values.push_back({.bytes = size});
  schedule.may_overwrite.resize(bytes.size());
  for (const StepText& step : steps) {
    for (const uint32_t value : step.writes) {
      schedule.values[value].made_by = static_cast<uint32_t>(schedule.steps.size());
    }
    schedule.steps.push_back({step.reads, step.writes, step.cost, step.again_until});
  }
  return schedule;
}

// A chain of five layers and its backward, which reads each layer's output: value 0 is the input, 6 on are
// gradients.
std::vector<StepText> chain() {
  return {{{0}, {1}},       {{1}, {2}},       {{2}, {3}},       {{3}, {4}},        {{4}, {5}},        {{5}, {6}},
          {{5, 6, 4}, {7}}, {{4, 7, 3}, {8}}, {{3, 8, 2}, {9}}, {{2, 9, 1}, {10}}, {{1, 10, 0}, {11}}};
}

// The most alive, counted the slow way: at each position each value whose last making is behind a use.
uint64_t peak_of(const StepSchedule& schedule, const std::vector<uint32_t>& order) {
  uint64_t peak = 0;
  for (size_t now = 0; now < order.size(); ++now) {
    uint64_t alive = 0;
    for (uint32_t value = 0; value < schedule.values.size(); ++value) {
      const auto names = [&](uint32_t step, const std::vector<uint32_t> ScheduledStep::*list) {
        const auto& values = schedule.steps[step].*list;
        return std::find(values.begin(), values.end(), value) != values.end();
      };
      bool is_there = schedule.values[value].made_by == kNoStep || names(order[now], &ScheduledStep::writes);
      for (size_t i = 0; i < now; ++i) is_there = is_there || names(order[i], &ScheduledStep::writes);
      bool is_read = schedule.values[value].lives_to_end || names(order[now], &ScheduledStep::writes);
      for (size_t i = now; i < order.size() && !is_read; ++i) {
        if (i > now && names(order[i], &ScheduledStep::writes)) break;
        is_read = names(order[i], &ScheduledStep::reads);
      }
      if (is_there && is_read) alive += schedule.values[value].bytes;
    }
    peak = std::max(peak, alive);
  }
  return peak;
}

void expect_sound(const StepSchedule& schedule, const Recomputation& found) {
  std::vector<uint32_t> first_runs;
  std::vector<bool> has_run(schedule.steps.size());
  double cost = 0;
  for (size_t i = 0; i < found.order.size(); ++i) {
    const uint32_t step = found.order[i];
    if (!has_run[step]) first_runs.push_back(step);
    else cost += schedule.steps[step].cost;
    if (has_run[step]) {
      EXPECT_GE(schedule.steps[step].again_until, first_runs.size()) << "step " << step;
    }
    has_run[step] = true;
  }
  ASSERT_EQ(first_runs.size(), schedule.steps.size());
  EXPECT_TRUE(std::is_sorted(first_runs.begin(), first_runs.end()));
  EXPECT_DOUBLE_EQ(found.cost, cost);
  EXPECT_EQ(found.peak_bytes, peak_of(schedule, found.order));
}

TEST(Recompute, RunsNothingAgainThatFits) {
  const StepSchedule schedule = schedule_of(chain(), std::vector<uint64_t>(12, 10));
  const Recomputation found = recompute_within(schedule, 1000);
  EXPECT_THAT(found.order, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(found.peak_bytes, 80u);  // the input, five outputs and two gradients
  EXPECT_EQ(found.cost, 0);
  expect_sound(schedule, found);
}

TEST(Recompute, CutsALifeAtItsFirstReaderInBackward) {
  const StepSchedule schedule = schedule_of(chain(), std::vector<uint64_t>(12, 10));
  const Recomputation found = recompute_within(schedule, 70);
  expect_sound(schedule, found);
  EXPECT_LE(found.peak_bytes, 70u);
  EXPECT_LE(found.cost, 1);
}

TEST(Recompute, GoesBackAsFarAsItMust) {
  const StepSchedule schedule = schedule_of(chain(), std::vector<uint64_t>(12, 10));
  const Recomputation found = recompute_within(schedule, 50);
  expect_sound(schedule, found);
  EXPECT_LE(found.peak_bytes, 50u);
  EXPECT_GT(found.cost, 1);
}

TEST(Recompute, TakesTheCheapStep) {
  std::vector<StepText> steps = chain();
  for (StepText& step : steps) step.cost = 100;
  steps[2].cost = 1;
  const StepSchedule schedule = schedule_of(steps, std::vector<uint64_t>(12, 10));
  const Recomputation found = recompute_within(schedule, 70);
  EXPECT_LE(found.peak_bytes, 70u);
  EXPECT_EQ(found.cost, 1);
}

TEST(Recompute, RunsNoStepAgainWhereItMayNot) {
  std::vector<StepText> steps = chain();
  for (StepText& step : steps) step.again_until = 0;
  const StepSchedule schedule = schedule_of(steps, std::vector<uint64_t>(12, 10));
  EXPECT_EQ(recompute_within(schedule, 10).order.size(), steps.size());
  for (StepText& step : steps) step.again_until = 8;  // in front of step 9 the weights have moved
  expect_sound(schedule_of(steps, std::vector<uint64_t>(12, 10)),
               recompute_within(schedule_of(steps, std::vector<uint64_t>(12, 10)), 50));
}

TEST(Recompute, IsSoundForRandomProgramsAndAnyLimit) {
  size_t runs_again = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    std::vector<StepText> steps;
    std::vector<uint64_t> bytes = {10 + prng.below(50)};
    const auto count = static_cast<uint32_t>(4 + prng.below(30));
    for (uint32_t i = 0; i < count; ++i) {
      StepText step;
      for (uint64_t reads = 1 + prng.below(3); reads > 0; --reads) {
        const uint64_t span = prng.chance(0.5) ? std::min<uint64_t>(3, bytes.size()) : bytes.size();
        step.reads.push_back(static_cast<uint32_t>(bytes.size() - 1 - prng.below(span)));
      }
      step.writes.push_back(static_cast<uint32_t>(bytes.size()));
      bytes.push_back(1 + prng.below(100));
      step.cost = static_cast<double>(1 + prng.below(20));
      if (prng.chance(0.2)) step.again_until = static_cast<uint32_t>(prng.below(count));
      steps.push_back(std::move(step));
    }
    const StepSchedule schedule = schedule_of(steps, bytes);
    const uint64_t whole = recompute_within(schedule, ~0ull).peak_bytes;
    for (const uint64_t limit : {whole * 9 / 10, whole * 6 / 10, whole / 4}) {
      const Recomputation found = recompute_within(schedule, limit);
      expect_sound(schedule, found);
      EXPECT_LE(found.peak_bytes, whole);
      runs_again += found.order.size() - steps.size();
    }
  }
  EXPECT_GT(runs_again, 50u);
}

// Every kind of state beside: statistics that are followed, drawn masks, sums of gradients, a weight read
// twice.
Model residual_net() {
  ModelBuilder build("residual", {8, 8, 3}, 21);
  TensorId x = build.relu(build.batch_norm(build.conv2d(build.input(), {.filters = 8, .kernel = 3, .pad = 1})));
  for (int i = 0; i < 2; ++i) {
    const TensorId skip = x;
    x = build.relu(build.batch_norm(build.conv2d(x, {.filters = 8, .kernel = 3, .pad = 1, .bias = false})));
    x = build.op(OpKind::dropout, {x}, DropoutAttributes{.rate = 0.25f});
    x = build.batch_norm(build.conv2d(x, {.filters = 8, .kernel = 3, .pad = 1, .bias = false}));
    x = build.relu(build.add(x, skip));
  }
  x = build.max_pool2d(x, {.kernel = 2, .stride = 2});
  return load_or_die(build.finish(build.dense(build.flatten(x), 10)));
}

TrainOptions options_within(uint64_t planned_bytes_max) {
  TrainOptions options;
  options.batch_size = 64;  // activations, not the kernels' workspaces, are what these nets need most
  options.optimizer = {.learning_rate = 0.05f, .momentum = 0.9f};
  options.epochs = 2;
  options.planned_bytes_max = planned_bytes_max;
  return options;
}

std::vector<float> trained_within(const Model& model, uint64_t planned_bytes_max, TrainingMemory& memory) {
  const auto classes = static_cast<uint32_t>(model.output_shape().back());
  Examples examples(160, elements(model.input_shape()), classes);  // a batch of 32 at the end
  Result<Trainer> trainer = Trainer::create(model, options_within(planned_bytes_max), examples);
  EXPECT_OK(trainer);
  memory = trainer->memory();
  for (uint64_t steps = trainer->steps_in_all(); steps > 0; --steps) EXPECT_OK(trainer->step());
  return {trainer->parameters().begin(), trainer->parameters().end()};
}

TEST(TrainingWithinALimit, GivesTheSameBits) {
  for (const Model& model : {residual_net(), tangled_net()}) {
    TrainingMemory whole, less;
    const std::vector<float> expected = trained_within(model, 0, whole);
    const uint64_t least = Trainer::plan(model, options_within(1), 160)->planned_bytes;
    EXPECT_LT(least, whole.planned_bytes * 9 / 10);
    for (const uint64_t limit : {(least + whole.planned_bytes) / 2, least}) {
      SCOPED_TRACE(limit);
      EXPECT_EQ(trained_within(model, limit, less), expected);
      EXPECT_LE(less.planned_bytes, limit);
      EXPECT_GT(less.recomputed_steps, 0u);
      EXPECT_GT(less.recomputed_share, 0);
      EXPECT_LT(less.recomputed_share, 1);
    }
    EXPECT_EQ(whole.recomputed_steps, 0u);
  }
}

TEST(TrainingWithinALimit, SaysTheLeast) {
  const Model model = tangled_net();
  Examples examples(160, elements(model.input_shape()), 5);
  const uint64_t least = Trainer::plan(model, options_within(1), 160)->planned_bytes;
  const Result<Trainer> trainer = Trainer::create(model, options_within(least - 1), examples);
  ASSERT_FALSE(trainer);
  EXPECT_EQ(trainer.error().code(), ErrorCode::too_large);
  EXPECT_THAT(trainer.error().message(), HasSubstr("need at least " + std::to_string(least) + " bytes"));
}

}  // namespace
}  // namespace coterie::test
