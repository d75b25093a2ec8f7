#include "tools/debug/recorded_tensors.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/unit/tools/debug/debugged_training.h"

namespace coterie::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> names_of(const RecordedTensors& tensors) {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : tensors.all()) names.push_back(tensor.name);
  return names;
}

TEST(RecordedTensors, NamesInputsOutputsGradientsAndParameters) {
  const Model model = small_cnn();
  Examples source = examples_for(model);
  const auto steps = debugged(model, debugged_options(), source);
  ASSERT_OK(steps->forward());
  const RecordedTensors tensors(model, *steps->now());
  const std::vector<std::string> names = names_of(tensors);
  for (const char* name : {"target", "conv1.weight", "conv1.weight.before", "conv1.weight.grad", "relu1", "dense2",
                           "dense2.grad", "dense2.bias.grad"}) {
    EXPECT_THAT(names, Contains(name));
  }
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size()) << "each is there once";
  const Result<const NamedTensor*> weight = tensors.find("conv1.weight");
  ASSERT_OK(weight);
  EXPECT_EQ((*weight)->op, "conv1");
  EXPECT_EQ((*weight)->kind, TensorKind::parameter);
  EXPECT_EQ((*weight)->shape.size(), 4u);
  const Result<const NamedTensor*> target = tensors.find("target");
  ASSERT_OK(target);
  EXPECT_EQ((*target)->values.type, ElementType::int32);
  EXPECT_EQ(value_at((*target)->values, 0), source.labels()[steps->now()->examples[0]]);
}

// Plain SGD: the weight behind the step is the one in front of it less rate times gradient.
TEST(RecordedTensors, AGradientIsWhatTheOptimizerGot) {
  const Model model = small_cnn();
  Examples source = examples_for(model);
  for (const uint32_t micro_batch : {0u, 2u}) {
    TrainOptions options = debugged_options(0.5f);
    options.optimizer.momentum = 0;
    options.micro_batch_size = micro_batch;
    const auto steps = debugged(model, options, source);
    ASSERT_OK(steps->forward());
    const RecordedTensors tensors(model, *steps->now());
    const auto values = [&](const char* name) { return values_of((*tensors.find(name))->values); };
    const std::vector<double> before = values("dense1.weight.before"), gradient = values("dense1.weight.grad"),
                              behind = values("dense1.weight");
    for (size_t i = 0; i < behind.size(); ++i) EXPECT_NEAR(behind[i], before[i] - 0.5 * gradient[i], 1e-6);
  }
}

TEST(RecordedTensors, FindsByAPatternThatOneMatches) {
  const Model model = small_cnn();
  Examples source = examples_for(model);
  const auto steps = debugged(model, debugged_options(), source);
  ASSERT_OK(steps->forward());
  const RecordedTensors tensors(model, *steps->now());
  EXPECT_OK(tensors.find("conv1.w*.before"));
  const Result<const NamedTensor*> many = tensors.find("conv1*"), none = tensors.find("conv1.weigth");
  ASSERT_FALSE(many);
  EXPECT_THAT(many.error().message(), HasSubstr("matches "));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), HasSubstr("did you mean `conv1.weight`?"));
  EXPECT_GT(tensors.matching("conv1").size(), 3u) << "all of an op";
}

TEST(RecordedTensors, NamesOfStrangersMoveNoCursor) {
  ModelBuilder build("hostile", {4}, 1);
  const TensorId weight = build.uniform("w\x1b[31m", {4, 3}, 0.1);
  const TensorId other = build.uniform("w\x1b]31m", {3, 3}, 0.1);
  const TensorId x = build.op(OpKind::dense, {build.input(), weight}, {}, "layer\x07");
  const Model model = load_or_die(build.finish(build.op(OpKind::dense, {x, other}, {}, "layer2")));
  Examples source = examples_for(model);
  const auto steps = debugged(model, debugged_options(), source);
  ASSERT_OK(steps->forward());
  const RecordedTensors tensors(model, *steps->now());
  for (const NamedTensor& tensor : tensors.all()) {
    EXPECT_EQ((tensor.name + tensor.op).find_first_of("\x1b\x07"), std::string::npos);
  }
  EXPECT_OK(tensors.find("w?[31m"));
}

}  // namespace
}  // namespace coterie::test
