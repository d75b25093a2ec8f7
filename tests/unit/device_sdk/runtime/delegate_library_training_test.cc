// Trainings by oneDNN, where this build has it: gradients against central differences, and trainings against ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device_sdk/runtime/delegate/partition.h"
#include "device_sdk/runtime/delegate/training_delegation.h"
#include "device_sdk/runtime/shape_inference.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/support/central_difference.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"
#ifdef COTERIE_HAS_ONEDNN
#include "device_sdk/delegates/onednn/onednn_delegate.h"
#endif

namespace coterie::test {
namespace {

using Values = std::vector<float>;

std::unique_ptr<Delegate> onednn() {
#ifdef COTERIE_HAS_ONEDNN
  return make_onednn_delegate();
#else
  return nullptr;
#endif
}

Values random_values(uint64_t count, Prng& prng) {
  Values values(count);
  for (float& value : values) value = static_cast<float>(prng.uniform(-1, 1));
  return values;
}

// A part of a training as its delegate computes it, with memory of its own.
class OnePart {
 public:
  OnePart(const Model& model, Delegate& delegate, uint32_t batch_size, std::vector<bool> is_trained)
      : trained_(std::move(is_trained)), types_(*infer_types(model.graph(), batch_size)) {
    Result<Partition> plan =
        partition(model, delegate,
                  {.batch_size = batch_size, .trains = true, .takes_whatever_cost = true, .is_trained = trained_});
    EXPECT_OK(plan);
    EXPECT_EQ(plan->parts.size(), 1u);
    part = plan->parts.at(0);
    Prng prng(23);
    fill(part.inputs, inputs, prng);
    fill(part.output_gradients, output_gradients, prng);
    fill(part.outputs, outputs, prng);
    fill(part.gradients, gradients, prng);
    for (const uint32_t tensor : part.parameters) {
      const auto from = model.parameters().subspan(model.graph().tensors[tensor].payload_offset / sizeof(float),
                                                   elements(model.graph().tensors[tensor].shape));
      parameters.emplace_back(from.begin(), from.end());
    }
    Result<std::unique_ptr<TrainingPart>> made =
        delegate.compile_training({.model = {model.graph(), types_.types, model.parameters(), &trained_},
                                   .ops = part.ops,
                                   .inputs = part.inputs,
                                   .outputs = part.outputs,
                                   .parameters = part.parameters,
                                   .output_gradients = part.output_gradients,
                                   .gradients = part.gradients});
    EXPECT_OK(made);
    compiled_ = std::move(*made);
  }

  // The sum of all outputs, each times the gradient that it is given.
  double forward() {
    EXPECT_OK(compiled_->forward(buffers()));
    double sum = 0;
    for (size_t i = 0; i < output_gradients.size(); ++i) {
      const auto at = std::ranges::find(part.outputs, part.output_gradients[i]) - part.outputs.begin();
      const Values& values = outputs[static_cast<size_t>(at)];
      for (size_t j = 0; j < values.size(); ++j) {
        sum += static_cast<double>(values[j]) * static_cast<double>(output_gradients[i][j]);
      }
    }
    return sum;
  }
  void backward() { EXPECT_OK(compiled_->backward(buffers())); }
  // What the gradient i is of.
  Values& differentiated(size_t i) {
    const auto input = std::ranges::find(part.inputs, part.gradients[i]);
    if (input != part.inputs.end()) return inputs[static_cast<size_t>(input - part.inputs.begin())];
    return parameters[static_cast<size_t>(std::ranges::find(part.parameters, part.gradients[i]) -
                                          part.parameters.begin())];
  }

  PlannedPart part;
  std::vector<Values> inputs, parameters, outputs, output_gradients, gradients;

 private:
  void fill(const std::vector<uint32_t>& tensors, std::vector<Values>& into, Prng& prng) const {
    for (const uint32_t tensor : tensors) into.push_back(random_values(elements(types_.types[tensor].shape), prng));
  }
  TrainingBuffers buffers() {
    pointers_.clear();
    for (auto* group : {&inputs, &parameters, &outputs, &output_gradients, &gradients}) {
      for (Values& values : *group) pointers_.push_back(values.data());
    }
    std::span<void* const> rest(pointers_);
    const auto next = [&](size_t count) {
      const std::span<void* const> taken = rest.first(count);
      rest = rest.subspan(count);
      return taken;
    };
    TrainingBuffers all;
    all.inputs = next(inputs.size());
    all.parameters = next(parameters.size());
    all.outputs = next(outputs.size());
    all.output_gradients = next(output_gradients.size());
    all.gradients = next(gradients.size());
    return all;
  }

  const std::vector<bool> trained_;
  const InferredTypes types_;
  std::vector<void*> pointers_;
  std::unique_ptr<TrainingPart> compiled_;
};

// A ReLU that is within the step of 0 would show: the seed is one where none is.
constexpr float kStep = 5e-4f;

// Each element of a gradient that is looked at against the slope of the delegate's own forward.
void expect_slopes(OnePart& part) {
  part.forward();
  part.backward();
  ASSERT_FALSE(part.part.gradients.empty());
  for (size_t i = 0; i < part.part.gradients.size(); ++i) {
    const Values gradient = part.gradients[i];
    float largest = 0;
    for (const float value : gradient) largest = std::max(largest, std::fabs(value));
    EXPECT_GT(largest, 0) << i;
    Values& values = part.differentiated(i);
    const size_t stride = std::max<size_t>(1, values.size() / 40);
    for (size_t j = 0; j < values.size(); j += stride) {
      const double slope = central_difference(values[j], kStep, [&] { return part.forward(); });
      EXPECT_NEAR(gradient[j], slope, 0.01 * static_cast<double>(largest) + 1e-3)
          << "gradient " << i << " element " << j;
    }
  }
}

struct SmallNet {
  const char* name;
  void (*build)(ModelBuilder& build, TensorId& x);
};

// Every op that is trained, with and without what is fused; strides, groups, uneven pads, several readers.
constexpr SmallNet kNets[] = {
    {"Dense", [](ModelBuilder& b, TensorId& x) { x = b.dense(b.flatten(x), 5); }},
    {"DenseRelu", [](ModelBuilder& b, TensorId& x) { x = b.dense(b.relu(b.dense(b.flatten(x), 7, false)), 3); }},
    {"Conv", [](ModelBuilder& b, TensorId& x) { x = b.conv2d(x, {.filters = 5, .kernel = 3, .pad = 1}); }},
    {"ConvRelu",
     [](ModelBuilder& b, TensorId& x) { x = b.relu(b.conv2d(x, {.filters = 4, .kernel = 2, .stride = 2, .pad = 1})); }},
    {"GroupedConv",
     [](ModelBuilder& b, TensorId& x) {
       x = b.relu(b.conv2d(x, {.filters = 8, .kernel = 3, .pad = 1, .groups = 4, .bias = false}));
       x = b.conv2d(x, {.filters = 6, .kernel = 3, .stride = 2, .groups = 2});
     }},
    {"MaxPool", [](ModelBuilder& b, TensorId& x) { x = b.max_pool2d(b.conv2d(x, {.filters = 3}), {}); }},
    {"AveragePool",
     [](ModelBuilder& b, TensorId& x) {
       x = b.dense(b.flatten(b.average_pool2d(x, {.kernel = 3, .stride = 2, .pad = 1})), 4);
     }},
    {"Residual",
     [](ModelBuilder& b, TensorId& x) {
       const TensorId a = b.relu(b.conv2d(x, {.filters = 4, .kernel = 3, .pad = 1}));
       x = b.relu(b.add(b.conv2d(a, {.filters = 4, .kernel = 3, .pad = 1}), a));
       x = b.add(x, x);
     }},
};

Model small_net(const SmallNet& net) {
  ModelBuilder build(net.name, {6, 5, 4}, 17);
  TensorId x = build.input();
  net.build(build, x);
  return load_or_die(build.finish(x));
}

class OnednnTraining : public testing::TestWithParam<SmallNet> {};

TEST_P(OnednnTraining, GivesTheSlopesOfItsForward) {
  const std::unique_ptr<Delegate> delegate = onednn();
  if (delegate == nullptr) GTEST_SKIP() << "this build has no onednn";
  const Model model = small_net(GetParam());
  OnePart part(model, *delegate, 3, trained_by_default(model.graph()));
  expect_slopes(part);
}

INSTANTIATE_TEST_SUITE_P(All, OnednnTraining, testing::ValuesIn(kNets),
                         [](const testing::TestParamInfo<SmallNet>& net) { return net.param.name; });

// A layer in the middle is frozen, one has a bias alone that is trained: gradients go through all the same.
TEST(OnednnTraining, GoesThroughWhatIsFrozen) {
  const std::unique_ptr<Delegate> delegate = onednn();
  if (delegate == nullptr) GTEST_SKIP() << "this build has no onednn";
  ModelBuilder build("frozen", {5, 5, 2}, 18);
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 4, .kernel = 3}));
  x = build.relu(build.conv2d(x, {.filters = 4, .kernel = 2}));
  const Model model = load_or_die(build.finish(build.dense(build.flatten(x), 3)));
  std::vector<bool> is_trained = trained_by_default(model.graph());
  for (uint32_t i = 0; i < is_trained.size(); ++i) {
    const std::string& name = model.graph().tensors[i].name;
    if (name.starts_with("conv2") || name == "dense1.weight") is_trained[i] = false;
  }
  OnePart part(model, *delegate, 3, is_trained);
  EXPECT_EQ(part.part.gradients.size(), 3u);  // two of conv1, one of dense1
  expect_slopes(part);
}

struct Trained {
  double loss = 0;  // mean, of all steps
  Values values;
  std::vector<TrainingDelegation::Batch> report;
};

Trained trained(const Model& model, const TrainOptions& options, Delegate* delegate) {
  Examples examples(80, elements(model.input_shape()), 10);
  std::optional<TrainingDelegation> delegation;
  if (delegate != nullptr) delegation.emplace(*delegate, TrainingDelegationSettings{.takes_whatever_cost = true});
  Result<Trainer> trainer =
      delegation ? Trainer::create(model, options, examples, *delegation) : Trainer::create(model, options, examples);
  EXPECT_OK(trainer);
  while (!trainer->finished()) EXPECT_OK(trainer->step());
  const TrainingSummary summary = trainer->summary();
  return {summary.loss_sum / static_cast<double>(summary.examples),
          {trainer->parameters().begin(), trainer->parameters().end()},
          delegation ? delegation->report() : std::vector<TrainingDelegation::Batch>()};
}

TEST(OnednnTraining, TrainsLenetAsOurKernelsDo) {
  const std::unique_ptr<Delegate> delegate = onednn();
  if (delegate == nullptr) GTEST_SKIP() << "this build has no onednn";
  const Model model = load_or_die(make_model(ModelKind::lenet5, {28, 28, 1}, 10, 5));
  TrainOptions options;
  options.optimizer = {.kind = OptimizerKind::sgd, .learning_rate = 0.02f, .momentum = 0.9f};
  options.batch_size = 16;
  options.epochs = 4;
  const Trained ours = trained(model, options, nullptr), theirs = trained(model, options, delegate.get());
  const DelegateReport& report = theirs.report.at(0).report;
  ASSERT_EQ(report.parts.size(), 1u);
  const DelegateReport::Part& part = report.parts[0];
  EXPECT_EQ(part.refusal, "");
  EXPECT_EQ(report.delegated_flops(), report.flops);
  EXPECT_EQ(part.copies.runs, 20u);
  ASSERT_TRUE(part.gradients.has_value());
  EXPECT_LT(part.gradients->difference, 1e-3 * part.gradients->largest);
  EXPECT_NEAR(theirs.loss, ours.loss, 1e-4 * ours.loss);
  ASSERT_EQ(theirs.values.size(), ours.values.size());
  for (size_t i = 0; i < ours.values.size(); ++i) ASSERT_NEAR(theirs.values[i], ours.values[i], 1e-3f) << i;
  EXPECT_NE(theirs.values, ours.values) << "is it ours?";
}

// The rest stays with our kernels.
TEST(OnednnTraining, TrainsATangledNet) {
  const std::unique_ptr<Delegate> delegate = onednn();
  if (delegate == nullptr) GTEST_SKIP() << "this build has no onednn";
  const Model model = tangled_net();
  TrainOptions options;
  options.optimizer = {.kind = OptimizerKind::sgd, .learning_rate = 0.01f};
  options.batch_size = 16;
  options.micro_batch_size = 8;
  const auto examples_of = [&](Delegate* library) {
    Examples examples(40, elements(model.input_shape()), 5);
    std::optional<TrainingDelegation> delegation;
    if (library != nullptr) delegation.emplace(*library, TrainingDelegationSettings{.takes_whatever_cost = true});
    Result<Trainer> trainer =
        delegation ? Trainer::create(model, options, examples, *delegation) : Trainer::create(model, options, examples);
    EXPECT_OK(trainer);
    while (!trainer->finished()) EXPECT_OK(trainer->step());
    if (delegation) {
      const DelegateReport report = delegation->report().at(0).report;
      for (const DelegateReport::Part& part : report.parts) EXPECT_EQ(part.refusal, "");
      EXPECT_GT(report.delegated_flops(), 0);
    }
    return Values(trainer->parameters().begin(), trainer->parameters().end());
  };
  const Values ours = examples_of(nullptr), theirs = examples_of(delegate.get());
  for (size_t i = 0; i < ours.size(); ++i) ASSERT_NEAR(theirs[i], ours[i], 1e-4f) << i;
}

}  // namespace
}  // namespace coterie::test
