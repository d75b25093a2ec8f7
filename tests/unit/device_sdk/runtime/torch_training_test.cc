// Whole training runs beside PyTorch's (tests/golden/torch): the loss of every step within 1e-4 of it, and where the
// weights end.
#include <gtest/gtest.h>

#include <cmath>

#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"
#include "tests/unit/device_sdk/runtime/torch_vectors.h"

namespace coterie::test {
namespace {

// Draws layers as class Net of make_vectors.py does.
class DrawnNet {
 public:
  DrawnNet(ModelBuilder& build, Draw& draw) : build_(build), draw_(draw) {}

  TensorId conv(TensorId x, uint32_t kernel, uint32_t filters, uint32_t pad, uint32_t stride = 1, uint32_t groups = 1) {
    const int64_t depth = build_.shape(x)[2] / groups, k = kernel;
    const auto [w, b] = layer({k, k, depth, filters}, static_cast<size_t>(k * k * depth), filters);
    return build_.op(OpKind::conv2d, {x, w, b}, Conv2dAttributes{stride, stride, pad, pad, pad, pad, groups});
  }
  TensorId dense(TensorId x, uint32_t units) {
    const int64_t in = build_.shape(x)[0];
    const auto [w, b] = layer({in, units}, static_cast<size_t>(in), units);
    return build_.op(OpKind::dense, {x, w, b});
  }

 private:
  std::pair<TensorId, TensorId> layer(const Shape& shape, size_t fan_in, uint32_t outputs) {
    const double scale = std::sqrt(2.0 / static_cast<double>(fan_in));
    std::vector<float> weights(*element_count(shape)), biases(outputs);
    for (float& value : weights) value = static_cast<float>(draw_.number() * scale);
    for (float& value : biases) value = static_cast<float>(draw_.number() * 0.125);
    return {build_.parameter("w", shape, weights), build_.parameter("b", {outputs}, biases)};
  }

  ModelBuilder& build_;
  Draw& draw_;
};

TensorId lenet5(ModelBuilder& build, Draw& draw) {
  DrawnNet net(build, draw);
  TensorId x = build.max_pool2d(build.relu(net.conv(build.input(), 5, 6, 2)), {});
  x = build.flatten(build.max_pool2d(build.relu(net.conv(x, 5, 16, 0)), {}));
  x = build.relu(net.dense(x, 120));
  x = build.relu(net.dense(x, 84));
  return net.dense(x, 10);
}

TensorId residual(ModelBuilder& build, Draw& draw) {
  DrawnNet net(build, draw);
  TensorId x = build.relu(net.conv(build.input(), 3, 8, 1));
  x = build.relu(build.add(net.conv(x, 3, 8, 1, 1, 4), x));
  x = build.average_pool2d(x, {.kernel = 3, .stride = 1, .pad = 1});
  x = build.relu(net.conv(x, 3, 12, 1, 2));
  return net.dense(build.global_average_pool2d(x), 5);
}

// The batches of make_vectors.py's training_run, in its order, whatever index is asked for: one batch is one epoch.
class DrawnBatches : public ExampleSource {
 public:
  DrawnBatches(Draw draw, uint64_t batch, const Shape& shape, uint32_t classes)
      : draw_(draw), batch_(batch), shape_(shape), classes_(classes) {}

  uint64_t size() const override { return batch_; }
  Status read(uint64_t, const Example& to) override {
    const std::span<float> features = to.features();
    if (next_ == 0) draw_batch(features.size());
    std::copy_n(values_.begin() + static_cast<ptrdiff_t>(next_ * features.size()), features.size(), features.begin());
    to.labels()[0] = labels_[next_];
    next_ = (next_ + 1) % batch_;
    return {};
  }

 private:
  void draw_batch(size_t features) {
    values_ = draw_.floats(batch_ * features);
    labels_ = draw_.labels(batch_, classes_);
    const auto width = static_cast<size_t>(shape_[1]), channels = static_cast<size_t>(shape_[2]);
    for (size_t i = 0; i < batch_; ++i) {
      float* image = values_.data() + i * features;
      const size_t first = static_cast<size_t>(labels_[i]) * 2 * width;
      for (size_t pixel = first; pixel < first + 2 * width; ++pixel) image[pixel * channels] += 1.5f;
      const float brightness = 0.25f * static_cast<float>(labels_[i]);
      for (size_t at = channels - 1; at < features; at += channels) image[at] += brightness;
    }
  }

  Draw draw_;
  uint64_t batch_;
  Shape shape_;
  uint32_t classes_;
  uint64_t next_ = 0;
  std::vector<float> values_;
  std::vector<int32_t> labels_;
};

OptimizerSettings optimizer_of(const TorchCase& c) {
  const auto number = [&](const char* key, float otherwise) {
    return c.attributes.contains(key) ? static_cast<float>(c.number(key)) : otherwise;
  };
  const bool adam = c.attributes.at("optimizer") == "adam";
  return {.kind = adam ? OptimizerKind::adam : OptimizerKind::sgd,
          .learning_rate = number("lr", 0),
          .momentum = number("momentum", 0),
          .weight_decay = number("weight_decay", 0),
          .beta1 = number("beta1", 0.9f),
          .beta2 = number("beta2", 0.999f),
          .epsilon = number("eps", 1e-8f)};
}

void expect_same_run(const TorchCase& c) {
  const bool is_lenet = c.attributes.at("net") == "lenet5";
  const Shape input = is_lenet ? Shape{28, 28, 1} : Shape{10, 9, 2};
  Draw draw(c.seed());
  ModelBuilder build("drawn", input, 0);
  const TensorId output = is_lenet ? lenet5(build, draw) : residual(build, draw);
  const Model model = load_or_die(build.finish(output));
  const auto batch = static_cast<uint32_t>(c.number("batch")), steps = static_cast<uint32_t>(c.number("steps"));
  DrawnBatches batches(draw, batch, input, is_lenet ? 10 : 5);
  const bool squared = c.attributes.at("loss") == "mean_squared_error";
  Result<Trainer> trainer = Trainer::create(model,
                                            {.loss = squared ? Loss::mean_squared_error : Loss::softmax_cross_entropy,
                                             .batch_size = batch,
                                             .local_epochs = steps,
                                             .optimizer = optimizer_of(c)},
                                            batches, 1);
  ASSERT_OK(trainer);
  double before = 0;
  for (uint32_t step = 0; step < steps; ++step) {
    ASSERT_OK(trainer->step());
    const double loss = (trainer->summary().loss_sum - before) / batch;
    before = trainer->summary().loss_sum;
    EXPECT_NEAR(loss, c.answer("losses")[step], 1e-4 * c.answer("losses")[step]) << "step " << step;
  }
  EXPECT_LT(c.answer("losses").back(), c.answer("losses").front());
  size_t parameter = 0;
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.role != TensorRole::parameter) continue;
    const std::string name = std::string("end").append(std::to_string(parameter++));
    const auto from = trainer->parameters().subspan(tensor.payload_offset / sizeof(float), c.answer(name).size());
    expect_near({from.begin(), from.end()}, c.answer(name), 2e-3, name);
  }
}

TEST(TorchVectors, TrainingRunsFollowTheSameLossCurves) {
  for (const TorchCase& c : torch_cases("train")) {
    SCOPED_TRACE(c.attributes.at("net") + " " + c.attributes.at("optimizer"));
    expect_same_run(c);
  }
}

}  // namespace
}  // namespace coterie::test
