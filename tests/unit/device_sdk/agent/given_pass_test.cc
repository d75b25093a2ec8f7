// What plans ask of the given model, and what an update tells of it.
#include "device_sdk/agent/given_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "device_sdk/agent/encode_update.h"
#include "device_sdk/agent/make_update.h"
#include "device_sdk/agent/told_scalars.h"
#include "device_sdk/agent/update_layout.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

using testing::ElementsAre;

constexpr uint64_t kExamples = 43;  // five batches of 8 and one of 3

class GivenPassTest : public testing::Test {
 protected:
  GivenPassTest() {
    plan_.training = {.batch_size = 8, .optimizer = {.learning_rate = 0.5f, .weight_decay = 0.1f}, .proximal_mu = 1};
    plan_.update.value_count = model_.value_count();
    plan_.update.fixed_point = FixedPointSpec::finest(8, 1, 100'000);
  }
  UpdateLayout layout() { return *UpdateLayout::of(model_, model_.value_count(), plan_); }

  Model model_ = load_or_die(make_model(ModelKind::mlp, {8, 8, 1}, 10, 2));
  Examples examples_{kExamples, 64, 10};
  Plan plan_;
};

TEST_F(GivenPassTest, FindsTheGradientOfAllExamplesAtTheGivenModel) {
  EXPECT_FALSE(GivenPass::is_asked_by(plan_));
  plan_.training.correction.kind = CorrectionKind::mime_lite;
  ASSERT_TRUE(GivenPass::is_asked_by(plan_));
  const UpdateLayout layout = this->layout();
  Result<std::unique_ptr<GivenPass>> pass = GivenPass::create(model_, {}, layout, plan_, 3, examples_);
  ASSERT_OK(pass);
  size_t steps = 0;
  for (; !(*pass)->finished(); ++steps) ASSERT_OK((*pass)->step());
  EXPECT_EQ(steps, 6u) << "a batch each";
  const std::vector<float> gradient = (*pass)->facts().gradient;
  // One step of all examples goes as far as the gradient says.
  TrainOptions whole;
  whole.loss = loss_of(plan_.training);
  whole.optimizer.learning_rate = 64;  // of a difference that is small beside the weights, few bits are left
  whole.batch_size = kExamples;
  Result<Trainer> trainer = Trainer::create(model_, whole, examples_);
  ASSERT_OK(trainer);
  ASSERT_OK(trainer->step());
  std::vector<float> delta(model_.value_count());
  trainer->delta(delta);
  ASSERT_EQ(gradient.size(), delta.size());
  double size = 0;
  for (size_t i = 0; i < delta.size(); ++i) {
    ASSERT_NEAR(gradient[i], -delta[i] / 64, 1e-6) << i;
    size = std::max(size, static_cast<double>(std::abs(gradient[i])));
  }
  EXPECT_GT(size, 0.01) << "else nothing was compared";
}

TEST_F(GivenPassTest, FindsTheLossOfAllExamples) {
  plan_.update.scalars = {{ScalarKind::fair_step, 1024}};
  plan_.update.fair = {.q = 1, .loss_max = 4};
  ASSERT_TRUE(GivenPass::is_asked_by(plan_));
  plan_.update.value_count += 1;
  const UpdateLayout layout = this->layout();
  const Result<GivenFacts> facts = given_facts(model_, {}, layout, plan_, 3, examples_);
  ASSERT_OK(facts);
  Result<Evaluator> evaluator = Evaluator::create(model_, loss_of(plan_.training), 8);
  ASSERT_OK(evaluator);
  EXPECT_EQ(facts->loss, evaluator->run(model_.parameters(), examples_)->loss_mean);
  EXPECT_GT(facts->loss, 1);
  EXPECT_TRUE(facts->gradient.empty());
}

// A step with a rate and pulls of a plan's own says nothing of the gradient, and a device's control goes on from it.
TEST_F(GivenPassTest, IsTheControlPartLessWhatTheDeviceKeeps) {
  plan_.training.correction.kind = CorrectionKind::scaffold_gradient;
  plan_.update.control_value_count = plan_.update.value_count;
  plan_.update.value_count *= 2;
  const UpdateLayout layout = this->layout();
  const Result<GivenFacts> facts = given_facts(model_, {}, layout, plan_, 3, examples_);
  ASSERT_OK(facts);
  Result<Trainer> trainer = Trainer::create(model_, layout.options(plan_.training, 3, {}, {}), examples_);
  ASSERT_OK(trainer);
  while (!trainer->finished()) ASSERT_OK(trainer->step());
  const std::vector<float> state(layout.count(), 0.25f);
  for (const bool has_state : {false, true}) {
    const TrainingOrigin origin{.seed = 3, .state = has_state ? state : std::span<const float>(), .given = &*facts};
    const Result<TrainedUpdate> update = make_update(layout, *trainer, 1, plan_.training, plan_.update, origin);
    ASSERT_OK(update);
    for (const ValueRange& range : layout.parameters()) {
      for (uint64_t i = range.first; i < range.first + range.count; ++i) {
        ASSERT_EQ(update->delta[layout.count() + i], facts->gradient[i] - (has_state ? 0.25f : 0)) << i;
      }
    }
  }
}

// ---- What is told

UpdateRules rules_with(std::vector<ScalarRule> scalars) {
  UpdateRules rules;
  rules.scalars = std::move(scalars);
  rules.value_count = 4 + rules.scalars.size();
  rules.fixed_point.value_abs_max = 8;
  return rules;
}
constexpr ValueRange kParameters[] = {{0, 2}};  // and two of statistics

TEST(ToldScalars, AreSharesOfTheirBounds) {
  std::vector<float> update = {3, 4, 100, 100, 0};
  ASSERT_OK(tell_scalars({}, rules_with({{ScalarKind::squared_norm, 50}}), kParameters, {}, {}, update));
  EXPECT_THAT(update, ElementsAre(3, 4, 100, 100, 8 * 25.0f / 50));
  ASSERT_OK(tell_scalars({}, rules_with({{ScalarKind::squared_norm, 10}}), kParameters, {}, {}, update));
  EXPECT_THAT(update, ElementsAre(3, 4, 100, 100, 8)) << "beyond the bound";
  std::vector<float> as_it_is = {3, 4, 100, 100};
  ASSERT_OK(tell_scalars({}, rules_with({}), kParameters, {}, {}, as_it_is));
  EXPECT_THAT(as_it_is, ElementsAre(3, 4, 100, 100));
}

TEST(ToldScalars, WeighAnUpdateByThePowerOfItsLoss) {
  TrainingSettings training;
  training.optimizer.learning_rate = 0.5f;
  UpdateRules rules = rules_with({{ScalarKind::fair_step, 1024}});
  rules.fair = {.q = 2, .loss_max = 4};
  std::vector<float> update = {3, 4, 100, 100, 0};
  ASSERT_OK(tell_scalars(training, rules, kParameters, {.gradient = {}, .loss = 1}, {}, update));
  // (1/4)^2 = 1/16; and 1/16 + 2 * 2 * 25 * (1/4) / 4
  EXPECT_THAT(update, ElementsAre(3 / 16.0f, 0.25f, 100, 100, testing::FloatEq(8 * (1 / 16.0f + 6.25f) / 1024)));
  for (const double loss : {0.0, 1e300}) {
    std::vector<float> extreme = {3, 4, 100, 100, 0};
    ASSERT_OK(tell_scalars(training, rules, kParameters, {.gradient = {}, .loss = loss}, {}, extreme));
    for (const float value : extreme) EXPECT_TRUE(std::isfinite(value)) << loss;
    EXPECT_LE(extreme[0], 3) << loss;
  }
}

TEST(ToldScalars, WeighAnUpdateByItsGroupAndTellItsLossThereAlone) {
  UpdateRules rules = rules_with({{ScalarKind::group_member, 1},
                                  {ScalarKind::group_member, 1},
                                  {ScalarKind::group_loss, 4},
                                  {ScalarKind::group_loss, 4}});
  const std::vector<float> control = {0.25f, 0.75f, 0.5f, 0.5f};
  const GivenFacts given{.gradient = {}, .loss = 1};
  std::vector<float> update = {3, 4, 100, 100, 0, 0, 0, 0};
  ASSERT_OK(tell_scalars({}, rules, kParameters, given, {.group = 1, .control = control}, update));
  EXPECT_THAT(update, ElementsAre(1, testing::FloatEq(4 / 3.0f), 100, 100, 8, 0, 2, 0));
  update = {3, 4, 100, 100, 0, 0, 0, 0};
  ASSERT_OK(tell_scalars({}, rules, kParameters, given, {.group = 2, .control = control}, update));
  EXPECT_THAT(update, ElementsAre(3, 4, 100, 100, 0, 8, 0, 2));
  ASSERT_OK(tell_scalars({}, rules, kParameters, {.gradient = {}, .loss = 9}, {.group = 1}, update));
  EXPECT_THAT(update, ElementsAre(3, 4, 100, 100, 8, 0, 8, 0)) << "no control is that of the first round";
  for (const uint32_t group : {0u, 3u}) {
    EXPECT_ERROR(check_device(rules, {.group = group}), ErrorCode::refused, "the job's groups are 1 to 2");
    EXPECT_OK(check_device(rules_with({}), {.group = group}));
  }
  const std::vector<float> wrong = {0.25f, 2, 0.5f, 0.5f};
  EXPECT_ERROR(check_device(rules, {.group = 1, .control = wrong}), ErrorCode::invalid_argument, "[0, 1]");
}

TEST(ToldScalars, AreNoPartOfTheClipAndKeepWithinTheirRange) {
  UpdateRules rules = rules_with({{ScalarKind::squared_norm, 50}, {ScalarKind::fair_step, 4}});
  rules.clip_l2 = 5;
  std::vector<float> update = {3, 4, 0, 0, 99, -3};
  ASSERT_OK(limit_update(update, rules));
  EXPECT_THAT(update, ElementsAre(3, 4, 0, 0, 8, 0));
}

}  // namespace
}  // namespace coterie::test
