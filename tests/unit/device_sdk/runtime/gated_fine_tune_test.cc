// A model that is kept only if it is better for the device's own examples.
#include "device_sdk/runtime/fine_tune.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "device_sdk/runtime/example_part.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/support/matchers.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

Model small() { return load_or_die(*make_model(ModelKind::mlp, {4, 4, 1}, 3, 1)); }

TEST(FineTune, KeepsWhatIsBetterOnWhatItWasNotTrainedOn) {
  const Model model = small();
  Examples examples(60, 16, 3);
  const TrainOptions options{.batch_size = 8, .epochs = 12, .seed = 3};
  const Result<FineTuned> tuned = fine_tune(model, options, 0.25f, examples);
  ASSERT_OK(tuned);
  EXPECT_EQ(tuned->before.examples, 15u);
  const ExampleSplit split = split_examples(60, 0.25f);
  ExamplePart own(examples, split.trained), held_out(examples, split.held_out);
  Result<Trainer> trainer = Trainer::create(model, options, own);
  ASSERT_OK(trainer);
  while (!trainer->finished()) ASSERT_OK(trainer->step());
  Result<Evaluator> evaluator = Evaluator::create(model, options.loss, 8);
  ASSERT_OK(evaluator);
  const Evaluation after = *evaluator->run(trainer->parameters(), held_out);
  const Evaluation before = *evaluator->run(model.parameters(), held_out);
  EXPECT_EQ(tuned->after.loss_mean, after.loss_mean);
  EXPECT_EQ(tuned->before.loss_mean, before.loss_mean);
  EXPECT_EQ(tuned->is_better, is_better(after, before));
  const std::span<const float> wanted = tuned->is_better ? trainer->parameters() : model.parameters();
  EXPECT_TRUE(std::ranges::equal(tuned->model.parameters(), wanted));
}

// Steps that round to nothing: the same model is not better.
TEST(FineTune, GivesTheModelBackThatIsNotBeaten) {
  const Model model = small();
  Examples examples(60, 16, 3);
  TrainOptions good{.batch_size = 8, .epochs = 20, .seed = 3};
  const Result<FineTuned> first = fine_tune(model, good, 0.25f, examples);
  ASSERT_OK(first);
  TrainOptions bad{.batch_size = 8, .epochs = 1, .seed = 3};
  bad.optimizer.learning_rate = 1e-30f;
  const Result<FineTuned> second = fine_tune(first->model, bad, 0.25f, examples);
  ASSERT_OK(second);
  EXPECT_FALSE(second->is_better);
  EXPECT_EQ(second->model.digest(), first->model.digest());
}

TEST(FineTune, HasAGateThatIsStrict) {
  const auto of = [](double accuracy, double loss) { return Evaluation{10, loss, accuracy}; };
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(is_better(of(0.6, 2), of(0.5, 1))) << "more are right";
  EXPECT_FALSE(is_better(of(0.4, 1), of(0.5, 2)));
  EXPECT_TRUE(is_better(of(0.5, 1), of(0.5, 2)));
  EXPECT_FALSE(is_better(of(0.5, 1), of(0.5, 1))) << "the same is not better";
  EXPECT_FALSE(is_better(of(0.9, kInfinite), of(0.5, 1)));
  EXPECT_TRUE(is_better(of(0, 1), of(0, std::numeric_limits<double>::quiet_NaN()))) << "a number is";
}

TEST(FineTune, SaysWhatItCannotJudge) {
  const Model model = small();
  Examples few(3, 16, 3), examples(20, 16, 3);
  EXPECT_ERROR(fine_tune(model, {}, 0.25f, few), ErrorCode::invalid_argument,
               "of 3 examples that share holds out none");
  for (const float share : {0.0f, -1.0f, 0.6f, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_ERROR(fine_tune(model, {}, share, examples), ErrorCode::invalid_argument, "must be in (0, 0.5]");
  }
  int steps = 0;
  const auto third = [&]() -> Status {
    return ++steps < 3 ? Status() : Status(Error(ErrorCode::cancelled, "the test says so"));
  };
  EXPECT_ERROR(fine_tune(model, {.batch_size = 4, .epochs = 9}, 0.25f, examples, third), ErrorCode::cancelled,
               "says so");
  EXPECT_EQ(steps, 3);
}

}  // namespace
}  // namespace coterie::test
