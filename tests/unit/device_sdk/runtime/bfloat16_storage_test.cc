// Training whose activations are held as bfloat16: forward is exact, the gradient's error is bounded, memory is halved.
// And, where the CPU has products of bfloat16, what those add to the error.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/float32_products.h"
#include "tests/unit/device_sdk/runtime/gradient_of.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

struct Trained {
  std::vector<float> gradient;  // of one step with learning rate 1
  double loss = 0;
  TrainingMemory memory;
};

Trained one_step(const Model& model, Storage storage, uint64_t planned_bytes_max = 0, uint32_t examples = 8,
                 uint32_t threads = 1) {
  Batch batch(model, examples);
  TrainOptions options;
  options.batch_size = examples;
  options.threads = threads;
  options.part_nanoseconds_min = 0;
  options.optimizer = {.learning_rate = 1};
  options.storage = storage;
  options.planned_bytes_max = planned_bytes_max;
  Result<Trainer> trainer = Trainer::create(model, options, batch);
  EXPECT_OK(trainer);
  EXPECT_OK(trainer->step());
  Trained trained{std::vector<float>(model.value_count()), trainer->summary().loss_sum, trainer->memory()};
  trainer->delta(trained.gradient);
  return trained;
}

double norm_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> difference(a.size());
  for (size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return norm_of(difference) / norm_of(b);
}

Model normed_net() {
  ModelBuilder build("normed", {32, 32, 3}, 21);
  TensorId x = build.input();
  for (int i = 0; i < 3; ++i) {
    x = build.relu(build.batch_norm(build.conv2d(x, {.filters = 8, .kernel = 3, .pad = 1, .bias = false})));
  }
  x = build.op(OpKind::gelu, {build.max_pool2d(x, {.kernel = 2, .stride = 2})});
  return load_or_die(build.finish(build.dense(build.flatten(x), 10)));
}

// Nothing that chooses: each op's backward is smooth in what it reads.
Model smooth_net() {
  ModelBuilder build("smooth", {8, 8, 3}, 22);
  TensorId x = build.op(OpKind::tanh, {build.conv2d(build.input(), {.filters = 8, .kernel = 3, .pad = 1})});
  x = build.op(OpKind::gelu, {build.add(x, build.conv2d(x, {.filters = 8, .kernel = 3, .pad = 1}))});
  x = build.layer_norm(build.average_pool2d(x, {.kernel = 2, .stride = 2}));
  return load_or_die(build.finish(build.dense(build.flatten(x), 10)));
}

// A ReLU and a maximum choose: where rounding makes two values equal, the gradient goes to the other of them.
TEST(Bfloat16Storage, ChangesNoForwardAndTheGradientByItsRounding) {
  const Float32Products products;
  const std::pair<Model, double> cases[] = {
      {smooth_net(), 0x1p-7}, {normed_net(), 0.05}, {tangled_net(), 0.05}, {small_cnn(), 0.05}};
  for (const auto& [model, bound] : cases) {
    const Trained exact = one_step(model, Storage::float32), held = one_step(model, Storage::bfloat16);
    EXPECT_EQ(held.loss, exact.loss);
    const double difference = relative_difference(held.gradient, exact.gradient);
    EXPECT_EQ(difference > 0, held.memory.narrowed_tensors > 0);
    EXPECT_LT(difference, bound);
  }
}

// What backward reads of a dense layer is its input alone: dw = sum of h dy, each h off by at most 2^-8 of itself.
TEST(Bfloat16Storage, KeepsToTheBoundOfASum) {
  const Float32Products products;
  ModelBuilder build("two", {6}, 5);
  const TensorId hidden = build.dense(build.input(), 12);
  const Model model = load_or_die(build.finish(build.dense(hidden, 5, false)));
  const Trained exact = one_step(model, Storage::float32), held = one_step(model, Storage::bfloat16);
  const auto& tensors = model.graph().tensors;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.role != TensorRole::parameter) continue;
    const bool is_last = tensor.shape == Shape{12, 5};
    const size_t at = tensor.payload_offset / sizeof(float);
    for (size_t i = at; i < at + elements(tensor.shape); ++i) {
      // The first layer reads its exact input and the exact weight: no difference at all.
      if (!is_last) EXPECT_EQ(held.gradient[i], exact.gradient[i]) << tensor.name << i - at;
      else EXPECT_NEAR(held.gradient[i], exact.gradient[i], 0x1p-8 * 4) << i - at;  // sum of |h dy| is below 4
    }
  }
}

// Both sides of the comparison that finds the maximum again are rounded alike; were one not, no gradient would pass.
TEST(Bfloat16Storage, SendsTheGradientThroughAMaximum) {
  const Float32Products products;
  ModelBuilder build("maximum", {8, 8, 2}, 9);
  TensorId x = build.op(OpKind::tanh, {build.conv2d(build.input(), {.filters = 4, .kernel = 3, .pad = 1})});
  x = build.max_pool2d(x, {.kernel = 2, .stride = 2});
  const Model model = load_or_die(build.finish(build.dense(build.flatten(x), 5)));
  const Trained exact = one_step(model, Storage::float32), held = one_step(model, Storage::bfloat16);
  EXPECT_LT(relative_difference(held.gradient, exact.gradient), 0x1p-6);
}

// What is not saved is not rounded, whatever the model.
TEST(Bfloat16Storage, RoundsNothingUnlessThePlanGetsSmaller) {
  const Float32Products products;
  const Model lenet = load_or_die(make_model(ModelKind::lenet5, {28, 28, 1}, 10, 1));
  uint32_t saving = 0, rounding_nothing = 0;
  for (const auto& [model, examples] : {std::pair(lenet, 32u), std::pair(small_cnn(), 8u), std::pair(tangled_net(), 8u),
                                        std::pair(normed_net(), 8u), std::pair(smooth_net(), 8u)}) {
    const Trained exact = one_step(model, Storage::float32, 0, examples);
    const Trained held = one_step(model, Storage::bfloat16, 0, examples);
    SCOPED_TRACE(model.graph().name + ": " + std::to_string(exact.memory.planned_bytes) + " bytes, " +
                 std::to_string(held.memory.planned_bytes));
    EXPECT_EQ(exact.memory.narrowed_tensors, 0u);
    EXPECT_EQ(held.memory.planned_bytes + held.memory.narrowed_bytes_saved, exact.memory.planned_bytes);
    EXPECT_EQ(held.memory.narrowed_tensors > 0, held.memory.narrowed_bytes_saved > 0);
    EXPECT_EQ(held.gradient == exact.gradient, held.memory.narrowed_tensors == 0);
    ++(held.memory.narrowed_tensors > 0 ? saving : rounding_nothing);
    EXPECT_EQ(one_step(model, Storage::bfloat16, 0, examples, 3).gradient, held.gradient) << "by several threads";
  }
  EXPECT_GT(saving, 0u);
  EXPECT_GT(rounding_nothing, 0u);
}

TEST(Bfloat16Storage, HoldsHalfAndMayStillBeRecomputed) {
  const Float32Products products;
  const Model model = normed_net();
  const Trained exact = one_step(model, Storage::float32), held = one_step(model, Storage::bfloat16);
  EXPECT_LT(held.memory.planned_bytes, exact.memory.planned_bytes * 7 / 10);
  const uint64_t limit = held.memory.planned_bytes * 9 / 10;
  const Trained both = one_step(model, Storage::bfloat16, limit);
  EXPECT_LE(both.memory.planned_bytes, limit);
  EXPECT_EQ(both.gradient, held.gradient);
}

// A rounded product is off by at most 2^-7 of itself, a sum of many with signs by less.
TEST(Bfloat16Products, ComputeTheLossAndTheGradientWithinTheirRounding) {
  const Model lenet = load_or_die(make_model(ModelKind::lenet5, {28, 28, 1}, 10, 1));
  for (const Model& model : {lenet, small_cnn(), smooth_net()}) {
    SCOPED_TRACE(model.graph().name);
    const Trained exact = one_step(model, Storage::float32), mixed = one_step(model, Storage::bfloat16);
    EXPECT_NEAR(mixed.loss, exact.loss, 0x1p-7 * exact.loss);
    EXPECT_LT(relative_difference(mixed.gradient, exact.gradient), 0.05);
    if (kernels::bfloat16_kernels() != nullptr) EXPECT_NE(mixed.gradient, exact.gradient);
    EXPECT_EQ(one_step(model, Storage::bfloat16, 0, 8, 3).gradient, mixed.gradient) << "by several threads";
  }
}

}  // namespace
}  // namespace coterie::test
