#include "device_sdk/runtime/head.h"

#include <gtest/gtest.h>

#include "device_sdk/runtime/predictor.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

TEST(ParseHead, ReadsLayerClassesAndSeed) {
  EXPECT_EQ(*parse_head("classifier.1:5"), (HeadSettings{"classifier.1", 5, 0}));
  EXPECT_EQ(*parse_head("fc:1000:7"), (HeadSettings{"fc", 1000, 7}));
  EXPECT_EQ(*parse_head("net:fc:3"), (HeadSettings{"net:fc", 3, 0}));
  for (const char* text : {"", "fc", "fc:", ":5", "fc:0", "fc:1000001", "fc:x", "fc:-1", "5", ":5:7"}) {
    EXPECT_ERROR(parse_head(text), ErrorCode::invalid_argument, "must be LAYER:CLASSES") << text;
  }
}

const TensorInfo& tensor_of(const Model& model, const std::string& name) {
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.name == name) return tensor;
  }
  ADD_FAILURE() << name;
  return model.graph().tensors.front();
}

std::vector<float> values_of(const Model& model, const std::string& name) {
  const TensorInfo& tensor = tensor_of(model, name);
  const float* first = model.parameters().data() + tensor.payload_offset / sizeof(float);
  return {first, first + *element_count(tensor.shape)};
}

TEST(ReplaceHead, GivesTheLastLayerNewOutputsAndLeavesTheRest) {
  const Model model = small_cnn();
  const Model made = load_or_die(replace_head(model, {"dense2", 37, 4}));
  EXPECT_EQ(made.output_shape(), (Shape{37}));
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.role != TensorRole::parameter || tensor.name.starts_with("dense2")) continue;
    EXPECT_EQ(values_of(made, tensor.name), values_of(model, tensor.name)) << tensor.name;
  }
  const std::vector<float> weight = values_of(made, "dense2.weight");
  const Shape shape = tensor_of(made, "dense2.weight").shape;
  EXPECT_EQ(shape.back(), 37);
  EXPECT_EQ(values_of(made, "dense2.bias"), std::vector<float>(37));
  double squares = 0;
  for (const float value : weight) squares += static_cast<double>(value) * static_cast<double>(value);
  const double variance = squares / static_cast<double>(weight.size());
  EXPECT_NEAR(variance, 2.0 / static_cast<double>(shape[0]), 0.4 / static_cast<double>(shape[0]));
  EXPECT_EQ(*replace_head(model, {"dense2", 37, 4}), *replace_head(model, {"dense2", 37, 4}));
  EXPECT_NE(*replace_head(model, {"dense2", 37, 4}), *replace_head(model, {"dense2", 37, 5}));
}

TEST(ReplaceHead, InFrontOfALargerTensorMovesIt) {
  ModelBuilder build("order", {4}, 1);
  const TensorId late = build.parameter("late", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const TensorId bias = build.parameter("bias", {3}, std::vector<float>{7, 8, 9});
  const TensorId x = build.dense(build.input(), 2);
  const Model model = load_or_die(build.finish(build.op(OpKind::dense, {x, late, bias}, {}, "top")));
  const Model made = load_or_die(replace_head(model, {"top", 40, 1}));
  EXPECT_EQ(values_of(made, "dense1.weight"), values_of(model, "dense1.weight"));
  EXPECT_EQ(values_of(made, "bias"), std::vector<float>(40));
}

TEST(ReplaceHead, TrainsWithTheNewClassesAfterwards) {
  const Model made = load_or_die(replace_head(small_cnn(), {"dense2", 3, 4}));
  Examples examples(32, 64, 3);
  TrainOptions options;
  options.batch_size = 8;
  options.epochs = 40;
  options.train_last = 1;
  Trainer trainer = *Trainer::create(made, options, examples);
  ASSERT_OK(trainer.step());
  const double first = trainer.summary().loss_sum;
  while (!trainer.finished()) ASSERT_OK(trainer.step());
  EXPECT_LT(trainer.summary().loss_sum / static_cast<double>(trainer.summary().steps), first);
  std::vector<float> delta(made.value_count());
  trainer.delta(delta);
  for (const TensorInfo& tensor : made.graph().tensors) {
    if (tensor.role != TensorRole::parameter) continue;
    float change = 0;
    for (size_t i = 0; i < *element_count(tensor.shape); ++i) {
      change = std::max(change, std::fabs(delta[tensor.payload_offset / sizeof(float) + i]));
    }
    EXPECT_EQ(change > 0, tensor.name.starts_with("dense2")) << tensor.name;
  }
}

TEST(ReplaceHead, OfAConvolutionThroughTheFlatteningBehindIt) {
  ModelBuilder build("squeeze", {8, 8, 1}, 3);
  const TensorId x = build.relu(build.conv2d(build.input(), {.filters = 4, .kernel = 3}));
  const TensorId maps = build.conv2d(x, {.filters = 10, .kernel = 1});
  const Model model = load_or_die(build.finish(build.flatten(build.global_average_pool2d(maps))));
  EXPECT_EQ(load_or_die(replace_head(model, {"conv2", 6, 1})).output_shape(), (Shape{6}));
}

TEST(ReplaceHead, RefusesWhatIsNoHead) {
  const Model model = small_cnn();
  EXPECT_ERROR(replace_head(model, {"fc", 5, 1}), ErrorCode::invalid_argument, "the model has no layer fc");
  EXPECT_ERROR(replace_head(model, {"dense2", 0, 1}), ErrorCode::invalid_argument, "classes must be in");
  EXPECT_ERROR(replace_head(model, {"dense1", 5, 1}), ErrorCode::invalid_argument,
               "what is behind dense1 does not fit");
  const std::string relu = [&] {
    for (const OpInfo& op : model.graph().ops) {
      if (op.kind == OpKind::relu) return op.name;
    }
    return std::string();
  }();
  EXPECT_ERROR(replace_head(model, {relu, 5, 1}), ErrorCode::invalid_argument, "is relu, not dense");

  ModelBuilder build("shared", {4}, 1);
  const TensorId w = build.uniform("w", {4, 4}, 0.8);
  const TensorId x = build.op(OpKind::dense, {build.input(), w});
  const Model shared = load_or_die(build.finish(build.op(OpKind::dense, {x, w}, {}, "top")));
  EXPECT_ERROR(replace_head(shared, {"top", 5, 1}), ErrorCode::invalid_argument, "is another layer's too");
}

}  // namespace
}  // namespace coterie::test
