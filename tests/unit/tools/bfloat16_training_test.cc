// What bfloat16 costs a training of accuracy: the built-in digits, learned with float32 and with `storage` bf16, which
// computes in bfloat16 too where the CPU can.
#include <gtest/gtest.h>

#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/support/matchers.h"
#include "tools/data/digits.h"

namespace coterie {
namespace {

// Some of the digits, from `first` on every `step`-th.
class SomeDigits : public ExampleSource {
 public:
  SomeDigits(size_t first, size_t step) : digits_(built_in_digits()), first_(first), step_(step) {}
  uint64_t size() const override { return (digits_.size() - first_ + step_ - 1) / step_; }
  Status read(uint64_t index, const Example& to) override {
    const size_t image = first_ + static_cast<size_t>(index) * step_, bytes = digits_.image_bytes();
    for (size_t i = 0; i < bytes; ++i) {
      to.features()[i] = static_cast<float>(digits_.pixels[image * bytes + i]) / static_cast<float>(digits_.white);
    }
    to.labels()[0] = digits_.labels[image];
    return {};
  }

 private:
  LabelledImages digits_;
  size_t first_, step_;
};

Model classifier() {
  ModelBuilder build("digits", {8, 8, 1}, 3);
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 16, .kernel = 3, .pad = 1}));
  x = build.relu(build.conv2d(x, {.filters = 32, .kernel = 3, .pad = 1}));
  x = build.max_pool2d(x, {.kernel = 2, .stride = 2});
  x = build.relu(build.dense(build.flatten(x), 64));
  const Result<Bytes> file = build.finish(build.dense(x, 10));
  EXPECT_OK(file);
  const Result<Model> model = Model::load(*file);
  EXPECT_OK(model);
  return *model;
}

Evaluation trained(const Model& model, Storage storage) {
  SomeDigits seen(0, 2), held_out(1, 2);
  TrainOptions options;
  options.batch_size = 30;
  options.epochs = 8;
  options.seed = 4;
  options.optimizer = {.learning_rate = 0.05f, .momentum = 0.9f};
  options.storage = storage;
  Result<Trainer> trainer = Trainer::create(model, options, seen);
  EXPECT_OK(trainer);
  while (!trainer->finished()) EXPECT_OK(trainer->step());
  Result<Evaluator> evaluator = Evaluator::create(model, Loss::softmax_cross_entropy, 30);
  EXPECT_OK(evaluator);
  const Result<Evaluation> evaluation = evaluator->run(trainer->parameters(), held_out);
  EXPECT_OK(evaluation);
  return *evaluation;
}

TEST(Bfloat16Training, LearnsTheDigitsAsWell) {
  const Model model = classifier();
  const Evaluation exact = trained(model, Storage::float32), rounded = trained(model, Storage::bfloat16);
  EXPECT_GT(exact.accuracy, 0.95);
  EXPECT_NEAR(rounded.accuracy, exact.accuracy, 0.01);
  EXPECT_NEAR(rounded.loss_mean, exact.loss_mean, 0.25 * exact.loss_mean);
}

}  // namespace
}  // namespace coterie
