// What is sent of a training that its device's own examples ended.
#include "device_sdk/agent/make_update.h"

#include <gtest/gtest.h>

#include "device_sdk/agent/normalised_steps.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

constexpr uint64_t kExamples = 40;

TEST(MakeUpdate, IsOfTheBestStateAndOfTheStepsUntilThen) {
  const Model model = load_or_die(make_model(ModelKind::mlp, {8, 8, 1}, 10, 2));
  Plan plan;
  plan.training = {.batch_size = 8,
                   .local_epochs = 40,
                   .optimizer = {.learning_rate = 0.5f},
                   .normalised_steps = 5,
                   .early_stopping = EarlyStopping{.validation_share = 0.25f, .patience = 2}};
  plan.update.value_count = model.value_count();
  plan.update.fixed_point = FixedPointSpec::finest(8, 1000, 100'000);
  Examples examples(kExamples, 64, 10);  // labels by chance
  const Result<UpdateLayout> layout = UpdateLayout::of(model, model.value_count(), plan);
  ASSERT_OK(layout);
  Result<Trainer> trainer = Trainer::create(model, layout->options(plan.training, 3, {}, {}), examples);
  ASSERT_OK(trainer);
  while (!trainer->finished()) ASSERT_OK(trainer->step());
  const ValidationSummary validation = trainer->validation();
  ASSERT_TRUE(validation.has_stopped);
  ASSERT_LT(validation.best_step, trainer->summary().steps);

  const Result<TrainedUpdate> update = make_update(*layout, *trainer, kExamples, plan.training, plan.update, {{}, 3});
  ASSERT_OK(update);
  std::vector<float> delta(model.value_count());
  trainer->delta(delta);
  const double scale = 5 / step_length(plan.training, validation.best_step);
  for (const ValueRange& range : layout->parameters()) {
    for (uint64_t i = range.first; i < range.first + range.count; ++i) {
      ASSERT_FLOAT_EQ(update->delta[i], static_cast<float>(static_cast<double>(delta[i]) * scale)) << i;
    }
  }
  EXPECT_EQ(update->header.weight, kExamples) << "held-out ones, too";
  EXPECT_EQ(update->header.examples, trainer->summary().examples) << "those that were trained on";
}

}  // namespace
}  // namespace coterie::test
