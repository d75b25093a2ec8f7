// Autodiff, fusion and memory planning as a whole: one SGD step with learning rate 1 moves each parameter by minus its
// gradient, which central differences of an independent interpreter in double must confirm.
#include <gtest/gtest.h>

#include <cmath>

#include "device_sdk/runtime/op_rule.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/support/central_difference.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"
#include "train_kernels/kernel_table.h"

namespace coterie::test {
namespace {

using Doubles = std::vector<double>;

// Runs the graph op by op with the reference kernels; no fusion, no planning, every tensor its own vector.
class Interpreter {
 public:
  Interpreter(const Model& model, Loss loss, const Examples& examples)
      : model_(model), loss_(loss), batch_(examples.size()), labels_(examples.labels()) {
    for (const TensorInfo& tensor : model.graph().tensors) {
      const auto index = static_cast<uint32_t>(values_.size());
      EXPECT_NE(tensor.role, TensorRole::constant);
      values_.emplace_back(elements(at_batch(model.shape(index), batch_)));
    }
    values_[model.graph().inputs[0]].assign(examples.values().begin(), examples.values().end());
  }

  // The batch mean of the loss at these parameters.
  double loss_at(const Doubles& parameters) {
    const ModelGraph& graph = model_.graph();
    for (uint32_t i = 0; i < graph.tensors.size(); ++i) {
      if (graph.tensors[i].role != TensorRole::parameter) continue;
      const auto from = parameters.begin() + static_cast<ptrdiff_t>(graph.tensors[i].payload_offset / sizeof(float));
      std::copy_n(from, values_[i].size(), values_[i].begin());
    }
    for (const OpInfo& op : graph.ops) run(op);
    kernels::LossSums sums;
    const size_t outputs = elements(model_.output_shape());
    const bool entropy = loss_ == Loss::softmax_cross_entropy;
    const auto loss = entropy ? table().softmax_cross_entropy : table().mean_squared_error;
    loss(batch_, outputs, values_[graph.output].data(), labels_.data(), nullptr, &sums);
    return sums.loss / static_cast<double>(batch_);
  }

 private:
  static const kernels::KernelTableOf<double>& table() { return kernels::reference_kernels<double>(); }
  // The batch not counted.
  size_t dimension(uint32_t tensor, size_t i) const {
    const Shape& shape = model_.shape(tensor);
    return static_cast<size_t>(shape[shape[0] < 0 ? i + 1 : i]);
  }

  void run(const OpInfo& op) {
    const uint32_t in = op.inputs[0];
    const double* x = values_[in].data();
    Doubles& y = values_[op.outputs[0]];
    const double* bias = op.inputs.size() > 2 ? values_[op.inputs[2]].data() : nullptr;
    switch (op.kind) {
      case OpKind::dense:
        return table().dense_forward({batch_, dimension(in, 0), dimension(op.outputs[0], 0)},
                                     {0, dimension(op.outputs[0], 0)}, x, values_[op.inputs[1]].data(), nullptr, bias,
                                     kernels::Activation::none, y.data(), nullptr);
      case OpKind::conv2d:
        return table().conv2d_forward(conv(op), x, values_[op.inputs[1]].data(), nullptr, bias,
                                      kernels::Activation::none, y.data(), nullptr);
      case OpKind::max_pool2d: return table().max_pool2d_forward(pool(op), x, y.data());
      case OpKind::average_pool2d:
      case OpKind::global_average_pool2d: return table().average_pool2d_forward(pool(op), x, y.data());
      case OpKind::relu: return table().relu_forward(y.size(), x, y.data());
      case OpKind::add: return table().add(y.size(), x, values_[op.inputs[1]].data(), y.data());
      case OpKind::flatten:
      case OpKind::reshape: y = values_[in]; return;
      default: FAIL() << to_string(op.kind);
    }
  }

  kernels::Conv2dShape conv(const OpInfo& op) const {
    const auto& a = std::get<Conv2dAttributes>(op.attributes);
    const uint32_t x = op.inputs[0], w = op.inputs[1];
    return {.batch = batch_,
            .height = dimension(x, 0),
            .width = dimension(x, 1),
            .channels = dimension(x, 2),
            .kernel_h = dimension(w, 0),
            .kernel_w = dimension(w, 1),
            .filters = dimension(w, 3),
            .stride_h = a.stride_h,
            .stride_w = a.stride_w,
            .pad_top = a.pad_top,
            .pad_left = a.pad_left,
            .pad_bottom = a.pad_bottom,
            .pad_right = a.pad_right,
            .groups = a.groups};
  }

  kernels::Pool2dShape pool(const OpInfo& op) const {
    const uint32_t x = op.inputs[0];
    const auto* a = std::get_if<Pool2dAttributes>(&op.attributes);
    const size_t height = dimension(x, 0), width = dimension(x, 1), channels = dimension(x, 2);
    if (a == nullptr) return {batch_, height, width, channels, height, width};
    return {batch_,      height,      width,      channels,    a->kernel_h,   a->kernel_w,
            a->stride_h, a->stride_w, a->pad_top, a->pad_left, a->pad_bottom, a->pad_right};
  }

  const Model& model_;
  Loss loss_;
  size_t batch_;
  std::vector<int32_t> labels_;
  std::vector<Doubles> values_;
};

// At most `checks` randomly chosen parameters are differentiated numerically.
void expect_step_follows_the_gradient(const Model& model, Loss loss, Examples& examples, size_t checks) {
  const TrainingSettings settings{.loss = loss,
                                  .batch_size = static_cast<uint32_t>(examples.size()),
                                  .local_epochs = 1,
                                  .optimizer = {.learning_rate = 1.0f}};
  Result<Trainer> trainer = Trainer::create(model, settings, examples, 1);
  ASSERT_OK(trainer);
  ASSERT_OK(trainer->step());
  std::vector<float> delta(model.value_count());
  trainer->delta(delta);

  Interpreter interpreter(model, loss, examples);
  Doubles parameters(model.parameters().begin(), model.parameters().end());
  const double trained_on = trainer->summary().loss_sum / static_cast<double>(examples.size());
  EXPECT_NEAR(interpreter.loss_at(parameters), trained_on, 1e-5);
  Prng prng(1);
  const double step = 1e-6;
  for (size_t check = 0; check < checks; ++check) {
    const size_t i = prng.below(parameters.size());
    const double gradient = central_difference(parameters[i], step, [&] { return interpreter.loss_at(parameters); });
    // delta is a difference of two rounded parameters.
    ASSERT_NEAR(-delta[i], gradient, 2e-5 + 1e-4 * std::fabs(gradient)) << "parameter " << i;
  }
}

TEST(Autodiff, OfTheZooFollowsTheNumericalGradient) {
  for (const ModelKind kind : {ModelKind::mlp, ModelKind::cnn, ModelKind::lenet5}) {
    SCOPED_TRACE(to_string(kind));
    const Shape input = kind == ModelKind::lenet5 ? Shape{16, 16, 1} : Shape{8, 8, 1};
    const Model model = load_or_die(make_model(kind, input, 10, 3));
    Examples examples(4, elements(input), 10);
    expect_step_follows_the_gradient(model, Loss::softmax_cross_entropy, examples, 150);
  }
}

TEST(Autodiff, OfTheTangledNetFollowsTheNumericalGradientForBothLosses) {
  const Model model = tangled_net();
  Examples examples(3, 7 * 6 * 4, 5);
  expect_step_follows_the_gradient(model, Loss::softmax_cross_entropy, examples, model.value_count());
  expect_step_follows_the_gradient(model, Loss::mean_squared_error, examples, model.value_count());
}

TEST(Autodiff, OfARegressionFollowsTheNumericalGradient) {
  ModelBuilder build("regression", {6}, 2);
  const Model model = load_or_die(build.finish(build.dense(build.relu(build.dense(build.input(), 7)), 1)));
  Examples examples(5, 6, 4);
  expect_step_follows_the_gradient(model, Loss::mean_squared_error, examples, model.value_count());
}

TEST(Autodiff, OfAReluThatAMaxPoolSharesWithAnotherReaderFollowsTheNumericalGradient) {
  for (const bool max_first : {false, true}) {
    ModelBuilder build("shared", {6, 6, 2}, 4);
    const TensorId x = build.relu(build.conv2d(build.input(), {.filters = 3, .kernel = 3, .pad = 1}));
    const auto max = [&] { return build.max_pool2d(x, {}); };
    const auto average = [&] { return build.average_pool2d(x, {}); };
    const TensorId first = max_first ? max() : average(), second = max_first ? average() : max();
    const Model model = load_or_die(build.finish(build.dense(build.flatten(build.add(first, second)), 3)));
    Examples examples(3, 6 * 6 * 2, 3);
    expect_step_follows_the_gradient(model, Loss::softmax_cross_entropy, examples, model.value_count());
  }
}

// A random network of everything the builder has, always legal.
Model random_net(uint64_t seed) {
  Prng prng(seed);
  const auto small = [&](int64_t low, int64_t high) {
    return static_cast<uint32_t>(low + static_cast<int64_t>(prng.below(static_cast<uint64_t>(high - low + 1))));
  };
  ModelBuilder build("random", {small(4, 8), small(4, 8), 2 * small(1, 2)}, seed);
  std::vector<TensorId> images = {build.input()};
  for (int layer = 0; layer < 7; ++layer) {
    const TensorId x = images[prng.below(images.size())];
    const Shape shape = build.shape(x);
    const bool large = shape[0] >= 3 && shape[1] >= 3;
    switch (prng.below(6)) {
      case 0:
        images.push_back(build.conv2d(x, {.filters = 2 * small(1, 3),
                                          .kernel = large ? small(1, 3) : 1,
                                          .stride = small(1, 2),
                                          .groups = shape[2] % 2 == 0 ? small(1, 2) : 1,
                                          .bias = prng.chance(0.5)}));
        break;
      case 1:
        images.push_back(build.conv2d(x, {.filters = static_cast<uint32_t>(shape[2]), .kernel = 3, .pad = 1}));
        break;
      case 2: images.push_back(build.relu(x)); break;
      case 3: images.push_back(build.add(x, build.relu(x))); break;
      case 4:
        if (large) images.push_back(build.max_pool2d(x, {.kernel = small(2, 3), .stride = small(1, 2)}));
        break;
      case 5:
        if (large) images.push_back(build.average_pool2d(x, {.kernel = 2, .stride = small(1, 2), .pad = small(0, 1)}));
        break;
    }
  }
  const TensorId a = build.relu(build.flatten(images.back()));
  const TensorId b = build.global_average_pool2d(images[prng.below(images.size())]);
  return load_or_die(build.finish(build.add(build.dense(a, 4), build.dense(b, 4))));
}

TEST(Autodiff, OfRandomNetsFollowsTheNumericalGradient) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const Model model = random_net(seed);
    Examples examples(3, elements(model.input_shape()), 4, seed);
    expect_step_follows_the_gradient(model, Loss::softmax_cross_entropy, examples, 60);
  }
}

}  // namespace
}  // namespace coterie::test
