#include "device_sdk/runtime/model_builder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "device_sdk/runtime/op_rule.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

TEST(ModelBuilder, PutsEachParameterAtTheNextMultipleOf64Bytes) {
  ModelBuilder build("two", {3}, 1);
  const Model model = load_or_die(build.finish(build.dense(build.input(), 5)));
  EXPECT_EQ(model.graph().tensors[1].name, "dense1.weight");
  EXPECT_EQ(model.graph().tensors[1].payload_offset, 0u);
  EXPECT_EQ(model.graph().tensors[2].payload_offset, 64u);
  EXPECT_EQ(model.value_count(), 16u + 5);
}

TEST(ModelBuilder, DrawsHeNormalWeightsAndZeroBiases) {
  ModelBuilder build("wide", {200}, 1);
  const Model model = load_or_die(build.finish(build.dense(build.input(), 300)));
  double sum = 0, squares = 0;
  for (size_t i = 0; i < 60000; ++i) {
    sum += model.parameters()[i];
    squares += model.parameters()[i] * model.parameters()[i];
  }
  EXPECT_NEAR(sum / 60000, 0, 0.002);
  EXPECT_NEAR(std::sqrt(squares / 60000), std::sqrt(2.0 / 200), 0.001);
  for (size_t i = 60000; i < 60300; ++i) EXPECT_EQ(model.parameters()[i], 0);
}

TEST(ModelBuilder, ReportsTheFirstMistakeAtTheEnd) {
  ModelBuilder build("wrong", {4, 4, 1}, 1);
  TensorId x = build.max_pool2d(build.input(), {.kernel = 5, .stride = 1});
  x = build.dense(x, 3);
  x = build.conv2d(x, {.filters = 2, .kernel = 3, .groups = 0});
  EXPECT_ERROR(build.finish(x), ErrorCode::malformed, "max_pool2d1: kernel's height of 5");
}

TEST(ModelBuilder, RefusesParametersOfTheWrongCount) {
  ModelBuilder build("wrong", {2}, 1);
  const TensorId w = build.parameter("w", {2, 2}, {1, 2, 3});
  EXPECT_ERROR(build.finish(build.op(OpKind::dense, {build.input(), w})), ErrorCode::invalid_argument,
               "3 values for shape 2x2");
}

TEST(ModelBuilder, KeepsProperties) {
  ModelBuilder build("p", {2}, 1);
  build.property("made-by", "a test");
  const Model model = load_or_die(build.finish(build.dense(build.input(), 2)));
  EXPECT_EQ(model.graph().properties.at("made-by"), "a test");
}

TEST(OpRules, StandUnderTheirOwnName) {
  size_t rules = 0;
  for (size_t kind = 0; kind <= kOpKinds + 1; ++kind) {
    const OpRule* rule = rule_of(static_cast<OpKind>(kind));
    if (rule == nullptr) continue;
    ++rules;
    EXPECT_EQ(rule->kind, static_cast<OpKind>(kind));
  }
  EXPECT_GE(rules, 10u);
}

TEST(Zoo, MakesNetsForDigitsAndForLargerImages) {
  for (const ModelKind kind : {ModelKind::mlp, ModelKind::cnn, ModelKind::lenet5}) {
    for (const Shape& input : {Shape{8, 8, 1}, Shape{28, 28, 1}, Shape{32, 32, 3}}) {
      if (kind == ModelKind::lenet5 && input[0] == 8) continue;
      const Model model = load_or_die(make_model(kind, input, 10, 1));
      EXPECT_EQ(model.input_shape(), input);
      EXPECT_EQ(model.output_shape(), Shape{10});
    }
    EXPECT_EQ(model_kind_from(to_string(kind)), kind);
  }
  EXPECT_EQ(model_kind_from("resnet"), std::nullopt);
  // LeNet-5 has the 61,706 parameters of the paper's descendants (padding not counted).
  uint64_t count = 0;
  const Model lenet = load_or_die(make_model(ModelKind::lenet5, {28, 28, 1}, 10, 1));
  for (const TensorInfo& tensor : lenet.graph().tensors) {
    if (tensor.role == TensorRole::parameter) count += *element_count(tensor.shape);
  }
  EXPECT_EQ(count, 61'706u);
}

TEST(Zoo, HasModelsForRowsOfNumbers) {
  const Model mlp = load_or_die(make_model(ModelKind::mlp, {14}, 2, 1));
  EXPECT_EQ(mlp.input_shape(), Shape{14});
  EXPECT_EQ(mlp.output_shape(), Shape{2});
  const Model logistic = load_or_die(make_model(ModelKind::logistic, {14}, 3, 1));
  EXPECT_EQ(logistic.graph().ops.size(), 1u);
  EXPECT_EQ(load_or_die(make_model(ModelKind::logistic, {8, 8, 1}, 10, 1)).output_shape(), Shape{10});
  EXPECT_EQ(model_kind_from("logistic"), ModelKind::logistic);
}

TEST(Zoo, IsReproducibleAndRefusesWhatDoesNotFit) {
  const Shape digits{8, 8, 1};
  EXPECT_EQ(*make_model(ModelKind::cnn, digits, 10, 4), *make_model(ModelKind::cnn, digits, 10, 4));
  EXPECT_NE(*make_model(ModelKind::cnn, digits, 10, 4), *make_model(ModelKind::cnn, digits, 10, 5));
  EXPECT_ERROR(make_model(ModelKind::cnn, {64}, 10, 1), ErrorCode::invalid_argument,
               "cnn takes images, height x width x channels, and an example is 64");
  EXPECT_ERROR(make_model(ModelKind::mlp, {}, 10, 1), ErrorCode::invalid_argument, "one number");
  EXPECT_ERROR(make_model(ModelKind::cnn, digits, 0, 1), ErrorCode::invalid_argument, "one class");
  EXPECT_ERROR(make_model(ModelKind::lenet5, digits, 10, 1), ErrorCode::malformed, "larger than the input's");
}

}  // namespace
}  // namespace coterie::test
