#include "fl_server/evaluation/model_evaluator.h"

#include <gtest/gtest.h>

#include <cmath>

#include "device_sdk/runtime/answer_shapes.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/model_builder.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

// Two features, three classes; the logits are the biases, whatever the features are.
Bytes model_of(const std::vector<float>& biases) {
  ModelBuilder build("biases", {2}, 1);
  const TensorId w = build.parameter("w", {2, 3}, std::vector<float>(6));
  const TensorId b = build.parameter("b", {3}, biases);
  return build.finish(build.op(OpKind::dense, {build.input(), w, b})).value();
}

Bytes dataset_of(const std::vector<int32_t>& labels, uint32_t features = 2, uint32_t classes = 3) {
  const DatasetHeader header = labelled_dataset("test", labels.size(), {features}, classes);
  return encode_dataset(header, std::vector<float>(labels.size() * features, 0.5f), labels);
}

TEST(EvaluateModel, IsTheMeanLossAndTheShareOfRightAnswers) {
  // 100 examples are more than one batch, and the last batch is not full. Class 1 is the answer to
  // everything.
  std::vector<int32_t> labels(100, 0);
  for (size_t i = 0; i < 25; ++i) labels[4 * i] = 1;
  const auto evaluation = evaluate_model(model_of({0, 2, 0}), dataset_of(labels), TrainingSettings{});
  ASSERT_OK(evaluation);
  const double log_sum = std::log(2 + std::exp(2.0));
  EXPECT_NEAR(evaluation->loss, 0.25 * (log_sum - 2) + 0.75 * log_sum, 1e-6);
  EXPECT_EQ(evaluation->accuracy, 0.25);
  EXPECT_FALSE(evaluation->mae);
  EXPECT_FALSE(evaluation->r2);
}

TEST(EvaluateModel, IsAboutTheModelItIsGiven) {
  const Bytes dataset = dataset_of({2, 2, 2});
  EXPECT_EQ(evaluate_model(model_of({5, 0, 0}), dataset, TrainingSettings{})->accuracy, 0);
  EXPECT_EQ(evaluate_model(model_of({0, 0, 5}), dataset, TrainingSettings{})->accuracy, 1);
}

TEST(EvaluateModel, RefusesFilesThatAreNoneOrDoNotFit) {
  const Bytes model = model_of({0, 0, 0}), dataset = dataset_of({0, 1, 2});
  const TrainingSettings training;
  ASSERT_OK(evaluate_model(model, dataset, training));
  EXPECT_ERROR(evaluate_model({}, dataset, training), ErrorCode::malformed, "");
  EXPECT_ERROR(evaluate_model(model, {}, training), ErrorCode::malformed, "");
  EXPECT_ERROR(evaluate_model(dataset, dataset, training), ErrorCode::malformed, "");
  EXPECT_ERROR(evaluate_model(model, model, training), ErrorCode::malformed, "");
  EXPECT_ERROR(evaluate_model(model, dataset_of({0, 1}, 5), training), ErrorCode::invalid_argument, "");
  EXPECT_ERROR(evaluate_model(model, dataset_of({9}, 2, 10), training), ErrorCode::invalid_argument, "");
  EXPECT_ERROR(evaluate_model(model, dataset_of({}), training), ErrorCode::malformed, "examples");
  Bytes cut = dataset;
  cut.pop_back();
  EXPECT_ERROR(evaluate_model(model, cut, training), ErrorCode::malformed, "");
}

TEST(CheckModel, TakesWhatDevicesCanLoad) {
  const Bytes model = model_of({0, 0, 0});
  EXPECT_OK(check_model(model));
  EXPECT_ERROR(check_model({}), ErrorCode::malformed, "");
  EXPECT_ERROR(check_model(Bytes(model.begin(), model.end() - 1)), ErrorCode::malformed, "");
  EXPECT_ERROR(check_model(dataset_of({0})), ErrorCode::malformed, "");
}

TEST(EvaluateModel, IsByTheJobsOwnLoss) {
  const Bytes model = model_of({0, 2, 0}), dataset = dataset_of({0, 1});
  const double plain = evaluate_model(model, dataset, {})->loss;
  const double of_class_1 = evaluate_model(model, dataset, {.class_weights = {0, 1, 0}})->loss;
  EXPECT_NEAR(of_class_1, std::log(2 + std::exp(2.0)) - 2, 1e-6);
  EXPECT_GT(plain, of_class_1);
}

// One number for an example, the bias, whatever the features are.
Bytes constant_of(float bias) {
  ModelBuilder build("constant", {2}, 1);
  const TensorId w = build.parameter("w", {2, 1}, std::vector<float>(2));
  const TensorId b = build.parameter("b", {1}, {bias});
  return build.finish(build.op(OpKind::dense, {build.input(), w, b})).value();
}

Bytes prices_of(const std::vector<float>& prices, float scale) {
  DatasetHeader header = labelled_dataset("prices", prices.size(), {2}, 0);
  header.target.type = ColumnType::float32;
  header.target.scale = scale;
  header.target.offset = 7;
  const std::vector<float> features(2 * prices.size());
  const auto bytes = [](const std::vector<float>& numbers) {
    return ByteView(reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size() * sizeof(float));
  };
  const ByteView columns[] = {bytes(features), bytes(prices)};
  return encode_dataset(header, columns);
}

TEST(EvaluateModel, HasErrorsInTheTargetsUnitWhereItIsANumber) {
  const TrainingSettings training{.loss = Loss::huber, .target = TargetKind::values};
  const auto evaluation = evaluate_model(constant_of(0), prices_of({-1, 0, 4}, 100), training);
  ASSERT_OK(evaluation);
  EXPECT_FLOAT_EQ(static_cast<float>(evaluation->loss), (0.5f + 0 + 3.5f) / 3) << "of what stands in the file";
  EXPECT_FALSE(evaluation->accuracy);
  EXPECT_NEAR(*evaluation->mae, 500.0 / 3, 1e-9);
  EXPECT_NEAR(*evaluation->r2, 1 - 17.0 / 14, 1e-9);
  EXPECT_FALSE(evaluate_model(constant_of(0), prices_of({2, 2}, 1), training)->r2) << "nothing varies";
  EXPECT_FALSE(evaluate_model(constant_of(0), prices_of({0.5f, 1}, 1),
                              {.loss = Loss::binary_cross_entropy, .target = TargetKind::values})
                   ->mae)
      << "its output is no such number";
}

// Logits of two classes and a number: the biases, whatever the features are. Rows of a class and a number.
TEST(EvaluateModel, HasFiguresOfEachHead) {
  ModelBuilder build("two", {1}, 1);
  const auto constant = [&](const char* name, const std::vector<float>& biases) {
    const auto n = static_cast<int64_t>(biases.size());
    const TensorId w = build.parameter(std::string("w_") + name, {1, n}, std::vector<float>(biases.size()));
    const TensorId b = build.parameter(std::string("b_") + name, {n}, biases);
    return build.op(OpKind::dense, {build.input(), w, b});
  };
  const TensorId own = constant("own", {0, 2});
  const TensorId more[] = {constant("more", {3})};
  const Bytes file = build.finish(own, more).value();
  const Model model = Model::load(file).value();
  std::vector<std::string> names;
  for (const ModelOutput& output : model_outputs(model)) names.push_back(output.name);
  ASSERT_EQ(names.size(), 2u);

  DatasetHeader header = labelled_dataset("rows", 4, {1}, 0);
  header.target = {.name = "target", .type = ColumnType::float32, .shape = {2}};
  const std::vector<float> features(4), targets = {1, 3, 1, 4, 0, 1, 1, 2};
  const auto bytes = [](const std::vector<float>& numbers) {
    return ByteView(reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size() * sizeof(float));
  };
  const ByteView columns[] = {bytes(features), bytes(targets)};
  const Bytes rows = encode_dataset(header, columns);
  TrainingSettings training{.heads = {{names[0], Loss::softmax_cross_entropy, 1}, {names[1], Loss::l1, 0.5f}},
                            .target = TargetKind::values};
  const auto evaluation = evaluate_model(file, rows, training);
  ASSERT_OK(evaluation);
  const double log_sum = std::log(1 + std::exp(2.0)), of_classes = log_sum - 1.5;
  ASSERT_EQ(evaluation->heads.size(), 2u);
  EXPECT_EQ(evaluation->heads[0].output, names[0]);
  EXPECT_NEAR(*evaluation->heads[0].loss, of_classes, 1e-6);
  EXPECT_EQ(evaluation->heads[0].accuracy, 0.75);
  EXPECT_FALSE(evaluation->heads[0].mae);
  EXPECT_EQ(evaluation->heads[1], (EvaluatedHead{.output = names[1], .loss = 1, .mae = 1}));
  EXPECT_NEAR(evaluation->loss, of_classes + 0.5, 1e-6);

  training.loss = training.heads[0].loss;
  training.ignore_label = 1;
  const auto without = evaluate_model(file, rows, training);
  ASSERT_OK(without);
  EXPECT_EQ(without->heads[0].accuracy, 0) << "the one that is left is not of class 1";
  EXPECT_TRUE(evaluate_model(model_of({0, 0, 0}), dataset_of({0}), {})->heads.empty());
}

TEST(EvaluateModel, RefusesTargetsThatTheJobDoesNotSpeakOf) {
  const TrainingSettings values{.loss = Loss::mean_squared_error, .target = TargetKind::values};
  EXPECT_ERROR(evaluate_model(constant_of(0), prices_of({1, 2}, 1), {.loss = Loss::mean_squared_error}),
               ErrorCode::invalid_argument, "are numbers, and training.target is labels");
  EXPECT_ERROR(evaluate_model(model_of({0, 0, 0}), dataset_of({0, 1}), values), ErrorCode::invalid_argument,
               "are labels, and training.target is values");
}

TEST(CheckTraining, SaysWhatDevicesCouldNotDo) {
  const Bytes model = model_of({0, 0, 0});
  const auto check = [&](const TrainingSettings& training) { return check_training(model, training); };
  EXPECT_OK(check({}));
  EXPECT_OK(check({.class_weights = {1, 2, 3}, .freeze = {"w"}}));
  EXPECT_OK(check({.optimizer = {.kind = OptimizerKind::lion}, .train_last = 1}));
  EXPECT_ERROR(check({.class_weights = {1, 2}}), ErrorCode::invalid_argument, "class weights (2)");
  EXPECT_ERROR(check({.freeze = {"features.*"}}), ErrorCode::invalid_argument,
               "freeze features.* matches no parameter");
  EXPECT_ERROR(check({.freeze = {"w", "b"}}), ErrorCode::invalid_argument, "nothing is left to train");
  EXPECT_ERROR(check({.train_last = 2}), ErrorCode::invalid_argument, "train_last is 2");
  EXPECT_ERROR(check({.loss = Loss::kl_divergence}), ErrorCode::invalid_argument, "values, not labels");
  EXPECT_ERROR(check({.augment = "flip"}), ErrorCode::invalid_argument, "these have 1 dimensions");
  EXPECT_ERROR(check_training(dataset_of({0}), {}), ErrorCode::malformed, "");
}

}  // namespace
}  // namespace coterie
