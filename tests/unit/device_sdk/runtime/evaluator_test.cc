#include "device_sdk/runtime/evaluator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

TEST(Evaluator, AgreesWithTheLossThatTrainingMeets) {
  // With a learning rate of nearly nothing, an epoch of training sees what evaluation sees.
  for (const Model& model : {small_cnn(), load_or_die(make_model(ModelKind::mlp, {8, 8, 1}, 10, 2))}) {
    Examples examples(23, 64, 10);
    Result<Trainer> trainer = Trainer::create(
        model, {.batch_size = 5, .local_epochs = 1, .optimizer = {.learning_rate = 1e-30f}}, examples, 1);
    ASSERT_OK(trainer);
    while (!trainer->finished()) ASSERT_OK(trainer->step());
    for (const uint32_t batch : {1u, 4u, 23u, 100u}) {
      Result<Evaluator> evaluator = Evaluator::create(model, Loss::softmax_cross_entropy, batch);
      ASSERT_OK(evaluator);
      const Result<Evaluation> evaluation = evaluator->run(model.parameters(), examples);
      ASSERT_OK(evaluation);
      EXPECT_EQ(evaluation->examples, 23u);
      EXPECT_NEAR(evaluation->loss_mean, trainer->summary().loss_sum / 23, 1e-6);
      EXPECT_DOUBLE_EQ(evaluation->accuracy, static_cast<double>(trainer->summary().correct) / 23);
    }
  }
}

TEST(Evaluator, GivesTheSameBitsForEachBatchSizeOfATangledNetAndEachRun) {
  const Model model = tangled_net();
  Examples examples(12, 7 * 6 * 4, 5);
  Result<Evaluator> evaluator = Evaluator::create(model, Loss::mean_squared_error, 5);
  ASSERT_OK(evaluator);
  const Result<Evaluation> first = evaluator->run(model.parameters(), examples);
  const Result<Evaluation> second = evaluator->run(model.parameters(), examples);
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ(first->loss_mean, second->loss_mean);
}

TEST(Evaluator, UsesTheParametersItIsGiven) {
  ModelBuilder build("bias", {2}, 1);
  const TensorId w = build.parameter("w", {2, 3}, std::vector<float>(6));
  const TensorId b = build.parameter("b", {3}, {0, 0, 0});
  const Model model = load_or_die(build.finish(build.op(OpKind::dense, {build.input(), w, b})));
  Examples examples(4, 2, 1);  // every label is 0
  Result<Evaluator> evaluator = Evaluator::create(model, Loss::softmax_cross_entropy, 4);
  ASSERT_OK(evaluator);
  std::vector<float> parameters(model.parameters().begin(), model.parameters().end());
  Result<Evaluation> even = evaluator->run(parameters, examples);
  ASSERT_OK(even);
  EXPECT_NEAR(even->loss_mean, std::log(3.0), 1e-6);
  EXPECT_EQ(even->accuracy, 1);  // the first of equals
  parameters[16 + 2] = 5;        // the bias of class 2
  Result<Evaluation> wrong = evaluator->run(parameters, examples);
  ASSERT_OK(wrong);
  EXPECT_EQ(wrong->accuracy, 0);
  EXPECT_GT(wrong->loss_mean, 5);
}

TEST(Evaluator, SaysWhatParametersThatAreNotNumbersAreWorth) {
  const Model model = small_cnn();
  Examples examples(4, 64, 10);
  Result<Evaluator> evaluator = Evaluator::create(model, Loss::softmax_cross_entropy, 4);
  ASSERT_OK(evaluator);
  const std::vector<float> parameters(model.value_count(), std::numeric_limits<float>::quiet_NaN());
  const Result<Evaluation> evaluation = evaluator->run(parameters, examples);
  ASSERT_OK(evaluation);
  EXPECT_TRUE(std::isnan(evaluation->loss_mean));
}

TEST(Evaluator, RefusesWhatDoesNotFit) {
  const Model model = small_cnn();
  Examples examples(4, 64, 10), none(0, 64, 10);
  EXPECT_ERROR(Evaluator::create(model, Loss::softmax_cross_entropy, 0), ErrorCode::invalid_argument, "batch_size");
  EXPECT_ERROR(Evaluator::create(model, Loss::softmax_cross_entropy, 1, 1000), ErrorCode::too_large, "1000 bytes");
  Result<Evaluator> evaluator = Evaluator::create(model, Loss::softmax_cross_entropy, 4);
  ASSERT_OK(evaluator);
  EXPECT_ERROR(evaluator->run(model.parameters().first(5), examples), ErrorCode::invalid_argument, "5 parameters");
  EXPECT_ERROR(evaluator->run(model.parameters(), none), ErrorCode::invalid_argument, "no examples");
  examples.set_label(3, 10);
  EXPECT_ERROR(evaluator->run(model.parameters(), examples), ErrorCode::invalid_argument, "example 3");
}

}  // namespace
}  // namespace coterie::test
