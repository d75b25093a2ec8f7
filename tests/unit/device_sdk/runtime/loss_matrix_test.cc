// Every loss in every way in which a step is computed follows the gradient of one big batch, computed in double: a way
// of computing is never another objective. What is reported is the loss that is lowered.
//
// The oracle is the network written out here, in double, with the losses of the reference kernels in double; those
// are held against PyTorch's numbers (tests/golden/torch/kernel_vectors.txt). The ways are all of {one batch,
// micro-batches} x {one thread, three} x {float32, bfloat16 between forward and backward} x {a loss scale or none} x
// {a budget or none}.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/memory_budget.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/float32_products.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

using Doubles = std::vector<double>;

constexpr size_t kExamples = 14, kRowsAnExample = 2, kRows = kExamples * kRowsAnExample, kIn = 5, kHidden = 24;
constexpr uint32_t kMicro = 4;  // 14 are 4 + 4 + 4 + 2

struct Case {
  std::string name;
  LossSettings loss;
  size_t width;           // of the output
  bool squashes = false;  // the output is a probability
};

std::vector<Case> cases() {
  const std::vector<float> weights = {10, 1, 0.1f, 3};
  const auto of = [](Loss kind, TargetKind target = TargetKind::labels) { return LossSettings{kind, target}; };
  const auto with = [&](LossSettings loss, float smoothing, bool is_weighted) {
    loss.label_smoothing = smoothing;
    if (is_weighted) loss.class_weights = weights;
    return loss;
  };
  constexpr TargetKind kValues = TargetKind::values;
  const LossSettings labels = of(Loss::softmax_cross_entropy), soft = of(Loss::softmax_cross_entropy, kValues);
  const LossSettings likelihood = of(Loss::negative_log_likelihood);
  LossSettings huber = of(Loss::huber, kValues), cosine = of(Loss::cosine_embedding), smooth = huber;
  huber.threshold = 0.3f;
  smooth.kind = Loss::smooth_l1;
  cosine.threshold = 0.1f;
  return {{"cross entropy", labels, 4},
          {"cross entropy, weights", with(labels, 0, true), 4},
          {"cross entropy, smoothing", with(labels, 0.2f, false), 4},
          {"cross entropy, weights and smoothing", with(labels, 0.2f, true), 4},
          {"soft labels", soft, 4},
          {"soft labels, weights", with(soft, 0, true), 4},
          {"soft labels, smoothing", with(soft, 0.2f, false), 4},
          {"soft labels, weights and smoothing", with(soft, 0.2f, true), 4},
          {"likelihood", likelihood, 4},
          {"likelihood, weights", with(likelihood, 0, true), 4},
          {"squared error of labels", of(Loss::mean_squared_error), 3},
          {"squared error of values", of(Loss::mean_squared_error, kValues), 3},
          {"binary", of(Loss::binary_cross_entropy), 1},
          {"binary, several", of(Loss::binary_cross_entropy), 3},
          {"binary of values", of(Loss::binary_cross_entropy, kValues), 3},
          {"binary of probabilities", of(Loss::binary_cross_entropy_of_probabilities), 1, true},
          {"divergence", of(Loss::kl_divergence, kValues), 4},
          {"l1", of(Loss::l1, kValues), 3},
          {"huber", huber, 3},
          {"smooth l1", smooth, 3},
          {"cosine", cosine, 6},
          {"triplet", of(Loss::triplet_margin), 6}};
}

struct Way {
  uint32_t micro = 0, threads = 1;
  Storage storage = Storage::float32;
  float loss_scale = 0;
  bool has_budget = false;

  std::string name() const {
    return "micro-batch " + std::to_string(micro) + ", threads " + std::to_string(threads) +
           (storage == Storage::bfloat16 ? ", bf16" : "") + (loss_scale > 0 ? ", scaled" : "") +
           (has_budget ? ", budget" : "");
  }
};

// One thread comes right before several: they are held against its bits.
std::vector<Way> ways() {
  std::vector<Way> ways{{.micro = 1}};
  for (const uint32_t micro : {0u, kMicro}) {
    for (const Storage storage : {Storage::float32, Storage::bfloat16}) {
      for (const float scale : {0.0f, 1024.0f}) {
        for (const bool has_budget : {false, true}) {
          for (const uint32_t threads : {1u, 3u}) ways.push_back({micro, threads, storage, scale, has_budget});
        }
      }
    }
  }
  return ways;
}

class Data : public ExampleSource {
 public:
  explicit Data(const Case& c) : is_values_(c.loss.target == TargetKind::values) {
    Prng prng(17);
    for (double& x : inputs) x = static_cast<float>(prng.uniform(-1, 1));
    const bool has_label_a_row = c.width == 1 || c.loss.kind != Loss::binary_cross_entropy;
    labels.resize(kRows * (has_label_a_row ? 1 : c.width));
    const bool is_binary = c.width == 1 || !has_label_a_row;
    for (int32_t& label : labels) {
      label = static_cast<int32_t>(prng.below(is_binary ? 2 : c.width));
      if (c.loss.kind == Loss::cosine_embedding) label = prng.below(2) == 0 ? 1 : -1;
    }
    for (size_t row = 0; is_values_ && row < kRows; ++row) {
      double sum = 0;
      for (size_t i = 0; i < c.width; ++i) sum += values.emplace_back(prng.uniform(0.05, 1));
      for (size_t i = 0; i < c.width; ++i) {
        double& value = values[row * c.width + i];
        value = static_cast<float>(value / sum);
      }
    }
  }

  uint64_t size() const override { return kExamples; }
  Status read(uint64_t index, const Example& to) override {
    for (size_t i = 0; i < to.features().size(); ++i) {
      to.features()[i] = static_cast<float>(inputs[index * to.features().size() + i]);
    }
    for (size_t i = 0; i < to.targets().size(); ++i) {
      const size_t at = index * to.targets().size() + i;
      if (is_values_) to.targets()[i] = static_cast<float>(values[at]);
      else to.labels()[i] = labels[at];
    }
    return {};
  }

  Doubles inputs = Doubles(kRows * kIn), values;
  std::vector<int32_t> labels;

 private:
  bool is_values_;
};

// y = W2 relu(W1 x + b1) + b2, or the sigmoid of it.
Model model_of(const Case& c) {
  ModelBuilder build("net", {kRowsAnExample, kIn}, 23);
  const TensorId y = build.dense(build.relu(build.dense(build.input(), kHidden)), static_cast<uint32_t>(c.width));
  return load_or_die(build.finish(c.squashes ? build.op(OpKind::sigmoid, {y}) : y));
}

struct Exact {
  double loss = 0;
  Doubles gradient;  // where the model's parameters are
};

// By PyTorch's definitions: CrossEntropyLoss and NLLLoss of labels divide by the weights of the labels.
double denominator(const Case& c, const Data& data) {
  if (c.loss.class_weights.empty() || c.loss.target == TargetKind::values) return kRows;
  double sum = 0;
  for (const int32_t label : data.labels) sum += static_cast<double>(c.loss.class_weights[static_cast<size_t>(label)]);
  return sum;
}

// The loss of outputs y, and dy.
double exact_loss(const Case& c, const Data& data, const Doubles& y, Doubles& dy) {
  const kernels::KernelTableOf<double>& kernels = kernels::reference_kernels<double>();
  const double divisor = denominator(c, data), scale = 1 / divisor;
  const size_t w = c.width;
  const double threshold = static_cast<double>(c.loss.threshold);
  const Doubles weights(c.loss.class_weights.begin(), c.loss.class_weights.end());
  const kernels::ClassLoss<double> classes{kRows, w, c.loss.label_smoothing,
                                           weights.empty() ? nullptr : weights.data()};
  kernels::LossSums sums;
  const auto elements = [&](kernels::ElementLoss kind) {
    const kernels::ElementLossShape shape{kind, kRows, w, c.loss.threshold};
    if (c.loss.target == TargetKind::values) {
      kernels.element_loss(shape, y.data(), data.values.data(), scale, dy.data(), &sums);
    } else {
      kernels.element_loss_of_labels(shape, y.data(), data.labels.data(), scale, dy.data(), &sums);
    }
  };
  using Element = kernels::ElementLoss;
  switch (c.loss.kind) {
    case Loss::softmax_cross_entropy:
      if (c.loss.target == TargetKind::values) {
        kernels.cross_entropy_of_targets(classes, y.data(), data.values.data(), scale, dy.data(), &sums);
      } else {
        kernels.cross_entropy(classes, y.data(), data.labels.data(), scale, dy.data(), &sums);
      }
      break;
    case Loss::negative_log_likelihood:
      kernels.negative_log_likelihood(classes, y.data(), data.labels.data(), scale, dy.data(), &sums);
      break;
    case Loss::mean_squared_error:
      if (c.loss.target == TargetKind::values) elements(Element::squared);
      else kernels.mean_squared_error(kRows, w, y.data(), data.labels.data(), dy.data(), &sums);
      break;
    case Loss::binary_cross_entropy: elements(Element::binary_cross_entropy_with_logits); break;
    case Loss::binary_cross_entropy_of_probabilities: elements(Element::binary_cross_entropy); break;
    case Loss::kl_divergence: elements(Element::kl_divergence); break;
    case Loss::l1: elements(Element::absolute); break;
    case Loss::huber: elements(Element::huber); break;
    case Loss::smooth_l1: elements(Element::smooth_l1); break;
    case Loss::cosine_embedding:
      for (size_t row = 0; row < kRows; ++row) {
        const double* a = y.data() + row * w;
        double* da = dy.data() + row * w;
        kernels.cosine_embedding(1, w / 2, a, a + w / 2, data.labels.data() + row, threshold, scale, da, da + w / 2,
                                 &sums);
      }
      break;
    case Loss::triplet_margin:
      for (size_t row = 0; row < kRows; ++row) {
        const size_t n = w / 3;
        const double* a = y.data() + row * w;
        double* da = dy.data() + row * w;
        kernels.triplet_margin(1, n, a, a + n, a + 2 * n, threshold, scale, da, da + n, da + 2 * n, &sums);
      }
      break;
  }
  return sums.loss / divisor;
}

size_t place(const Model& model, const Shape& shape) {
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (has_payload(tensor.role) && tensor.shape == shape) return tensor.payload_offset / sizeof(float);
  }
  ADD_FAILURE() << "no parameter of " << to_text(shape);
  return 0;
}

Exact exact(const Case& c, const Data& data, const Model& model) {
  const Doubles p(model.parameters().begin(), model.parameters().end());
  const size_t w = c.width;
  // A dense layer's weight is [features, units].
  const size_t w1 = place(model, {kIn, kHidden}), b1 = place(model, {kHidden});
  const size_t w2 = place(model, {kHidden, static_cast<int64_t>(w)}), b2 = place(model, {static_cast<int64_t>(w)});
  Doubles hidden(kRows * kHidden), y(kRows * w), dy(kRows * w);
  for (size_t row = 0; row < kRows; ++row) {
    for (size_t j = 0; j < kHidden; ++j) {
      double sum = p[b1 + j];
      for (size_t i = 0; i < kIn; ++i) sum += p[w1 + i * kHidden + j] * data.inputs[row * kIn + i];
      hidden[row * kHidden + j] = std::max(0.0, sum);
    }
    for (size_t k = 0; k < w; ++k) {
      double sum = p[b2 + k];
      for (size_t j = 0; j < kHidden; ++j) sum += p[w2 + j * w + k] * hidden[row * kHidden + j];
      y[row * w + k] = c.squashes ? 1 / (1 + std::exp(-sum)) : sum;
    }
  }
  Exact exact{.gradient = Doubles(p.size())};
  exact.loss = exact_loss(c, data, y, dy);
  for (size_t row = 0; row < kRows; ++row) {
    Doubles dh(kHidden);
    for (size_t k = 0; k < w; ++k) {
      const double out = y[row * w + k], d = dy[row * w + k] * (c.squashes ? out * (1 - out) : 1);
      exact.gradient[b2 + k] += d;
      for (size_t j = 0; j < kHidden; ++j) {
        exact.gradient[w2 + j * w + k] += d * hidden[row * kHidden + j];
        dh[j] += d * p[w2 + j * w + k];
      }
    }
    for (size_t j = 0; j < kHidden; ++j) {
      if (hidden[row * kHidden + j] <= 0) continue;
      exact.gradient[b1 + j] += dh[j];
      for (size_t i = 0; i < kIn; ++i) exact.gradient[w1 + i * kHidden + j] += dh[j] * data.inputs[row * kIn + i];
    }
  }
  return exact;
}

TrainOptions options_for(const Case& c, const Way& way) {
  TrainOptions options;
  options.loss = c.loss;
  options.optimizer.learning_rate = 1;
  options.batch_size = 16;  // more than there are: one batch of all
  options.micro_batch_size = way.micro;
  options.threads = way.threads;
  options.part_nanoseconds_min = 0;
  options.storage = way.storage;
  options.loss_scaling.start = way.loss_scale;
  return options;
}

// The tightest budget in steps of a tenth of the whole plan that the training keeps, and how many of its steps are
// computed again.
void fit(const Model& model, TrainOptions& options, uint32_t& recomputed) {
  const Result<TrainingMemory> whole = Trainer::plan(model, options, kExamples);
  ASSERT_OK(whole);
  std::optional<MemoryFit> found;
  for (uint64_t share = 10; share > 0; --share) {
    const uint64_t bytes = (whole->arena_bytes + whole->order_bytes) * share / 10;
    const Result<MemoryFit> fitted = fit_training_within(model, options, kExamples, bytes);
    if (!fitted) break;
    found = *fitted;
  }
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->micro_batch_size < options.batch_size || found->recomputed_steps > 0);
  recomputed = found->recomputed_steps;
  options.micro_batch_size = found->micro_batch_size;
  options.planned_bytes_max = found->planned_bytes_max;
}

// Budgets, each looked for once.
struct Fits {
  std::map<std::tuple<uint32_t, uint32_t, Storage>, std::pair<TrainOptions, uint32_t>> found;

  // The options with a budget, and how many steps are computed again.
  const std::pair<TrainOptions, uint32_t>& of(const Model& model, const TrainOptions& options, const Way& way) {
    const auto [fitted, is_new] =
        found.try_emplace(std::tuple(way.micro, way.threads, way.storage), std::pair(options, 0u));
    if (is_new) fit(model, fitted->second.first, fitted->second.second);
    return fitted->second;
  }
};

TEST(LossMatrix, EveryWayOfComputingAStepFollowsTheGradientOfOneBigBatch) {
  const Float32Products products;  // its bounds are those of storage
  uint32_t recomputed = 0, in_bfloat16 = 0;
  for (const Case& c : cases()) {
    const Model model = model_of(c);
    Data data(c);
    const Exact expected = exact(c, data, model);
    double largest = 0;
    for (const double g : expected.gradient) largest = std::max(largest, std::fabs(g));
    Fits fits;
    std::vector<float> by_one_thread;
    for (const Way& way : ways()) {
      SCOPED_TRACE(c.name + ", " + way.name());
      TrainOptions options = options_for(c, way);
      if (way.has_budget) {
        const auto& [fitted, steps] = fits.of(model, options, way);
        ASSERT_FALSE(HasFailure());
        options.micro_batch_size = fitted.micro_batch_size;
        options.planned_bytes_max = fitted.planned_bytes_max;
        recomputed += steps;
        in_bfloat16 += way.storage == Storage::bfloat16 ? steps : 0;
      }
      Result<Trainer> trainer = Trainer::create(model, options, data);
      ASSERT_OK(trainer);
      ASSERT_OK(trainer->step());
      std::vector<float> delta(model.value_count());
      trainer->delta(delta);
      double error = 0;
      for (size_t i = 0; i < delta.size(); ++i) {
        error = std::max(error, std::fabs(-static_cast<double>(delta[i]) - expected.gradient[i]));
      }
      // Parameters are below 1: float32 rounds a change of them to 2^-24. bfloat16 holds 8 bits, and sigmoid reads its
      // output twice.
      EXPECT_LE(error, way.storage == Storage::bfloat16 ? largest * 0x1p-7 : 2e-7 + largest * 2e-6) << largest;
      EXPECT_NEAR(trainer->summary().loss_sum / kExamples, expected.loss, 1e-5 * std::fabs(expected.loss));
      // A budget may cut the batch otherwise for several threads, which need room of their own.
      if (way.threads == 1) by_one_thread = delta;
      else if (!way.has_budget) {
        EXPECT_EQ(std::memcmp(delta.data(), by_one_thread.data(), delta.size() * sizeof(float)), 0) << "other bits";
      }
    }
  }
  EXPECT_GT(recomputed, 0u) << "no budget made anything be computed again";
  EXPECT_GT(in_bfloat16, 0u);
}

TEST(LossMatrix, AnEvaluationTellsTheLossThatTrainingLowers) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Model model = model_of(c);
    Data data(c);
    Result<Evaluator> evaluator = Evaluator::create(model, c.loss, 5);
    ASSERT_OK(evaluator);
    const Result<Evaluation> evaluation = evaluator->run(model.parameters(), data);
    ASSERT_OK(evaluation);
    const double expected = exact(c, data, model).loss;
    EXPECT_NEAR(evaluation->loss_mean, expected, 1e-5 * std::fabs(expected));
  }
}

TEST(LossMatrix, AStepWhoseLabelsWeighNothingMovesNothing) {
  Case c{"weights", {.kind = Loss::softmax_cross_entropy, .class_weights = {0, 1, 1, 1}}, 4};
  const Model model = model_of(c);
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.name());
    if (way.has_budget) continue;
    Data data(c);
    std::fill(data.labels.begin(), data.labels.end(), 0);
    Result<Trainer> trainer = Trainer::create(model, options_for(c, way), data);
    ASSERT_OK(trainer);
    ASSERT_OK(trainer->step());
    EXPECT_TRUE(std::equal(model.parameters().begin(), model.parameters().end(), trainer->parameters().begin()));
    EXPECT_EQ(trainer->summary().loss_sum, 0);
  }
}

// Each loss that is not for classes with weights and with smoothing, each that has no such target, and settings out of
// range.
TEST(LossMatrix, WhatALossDoesNotHaveIsRefusedByName) {
  struct Refused {
    LossSettings loss;
    std::string why;
  };
  std::vector<Refused> refused;
  for (const Case& c : cases()) {
    LossSettings plain = c.loss;
    plain.class_weights.clear();
    plain.label_smoothing = 0;
    const std::string name(to_string(c.loss.kind));
    LossSettings weighted = plain, smoothed = plain;
    weighted.class_weights.assign(c.width, 1.0f);
    smoothed.label_smoothing = 0.1f;
    const bool is_softmax = c.loss.kind == Loss::softmax_cross_entropy;
    if (!is_softmax) refused.push_back({smoothed, name + " has no label smoothing"});
    if (!is_softmax && c.loss.kind != Loss::negative_log_likelihood)
      refused.push_back({weighted, name + " has no class weights"});
  }
  refused.push_back({{.kind = Loss::negative_log_likelihood, .target = TargetKind::values},
                     "negative_log_likelihood needs labels, not values"});
  refused.push_back({{.kind = Loss::kl_divergence}, "kl_divergence needs values, not labels"});
  refused.push_back({{.kind = Loss::softmax_cross_entropy, .class_weights = {1, 2, 3}},
                     "needs as many classes as class weights (3)"});
  refused.push_back({{.kind = Loss::softmax_cross_entropy, .class_weights = {1, 2, -3, 1}}, "class weights must be"});
  for (const float smoothing : {-0.1f, 1.0f, std::nanf("")}) {
    refused.push_back(
        {{.kind = Loss::softmax_cross_entropy, .label_smoothing = smoothing}, "label_smoothing must be in [0, 1)"});
  }
  EXPECT_GT(refused.size(), 25u);
  const Case of_four{"refused", {.kind = Loss::mean_squared_error}, 4};
  const Model model = model_of(of_four);
  Data data(of_four);
  for (const Refused& r : refused) {
    SCOPED_TRACE(r.why);
    TrainOptions options;
    options.loss = r.loss;
    EXPECT_ERROR(Trainer::create(model, options, data), ErrorCode::invalid_argument, r.why);
  }
}

TEST(LossMatrix, WaysOfComputingThatThereAreNotAreRefusedByName) {
  const Case c = cases()[0];
  const Model model = model_of(c);
  Data data(c);
  const auto refused = [&](const Way& way, const std::string& why, uint64_t planned_bytes_max = 0) {
    TrainOptions options = options_for(c, way);
    options.planned_bytes_max = planned_bytes_max;
    EXPECT_ERROR(Trainer::create(model, options, data),
                 planned_bytes_max > 0 ? ErrorCode::too_large : ErrorCode::invalid_argument, why);
  };
  refused({.threads = 0}, "threads");
  refused({.loss_scale = 3}, "the loss scale must be a power of two");
  for (const uint32_t threads : {1u, 3u}) {
    for (const Storage storage : {Storage::float32, Storage::bfloat16}) {
      refused({.threads = threads, .storage = storage}, "bytes, allowed are 64", 64);
    }
  }
}

}  // namespace
}  // namespace coterie::test
