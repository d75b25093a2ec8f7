// Weights that make up for each other: the moments they go by, and the integers that come of it.
#include "tools/model/compensated_rounding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/predictor.h"
#include "tests/support/matchers.h"
#include "tools/model/int8_range.h"

namespace coterie {
namespace {

using namespace test;

class Noise final : public ExampleSource {
 public:
  Noise(uint64_t count, uint64_t width) : values_(count * width), width_(width) {
    Prng prng(11);
    for (float& value : values_) value = static_cast<float>(prng.uniform(-1, 2));
  }
  uint64_t size() const override { return values_.size() / width_; }
  Status read(uint64_t index, const Example& to) override {
    std::ranges::copy(all().subspan(index * width_, width_), to.features().begin());
    return {};
  }
  std::span<const float> all() const { return values_; }

 private:
  std::vector<float> values_;
  uint64_t width_;
};

// e^T M e of output o of a group.
double cost(const InputMoments& moments, size_t group, std::span<const double> e) {
  const size_t n = moments.rows;
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) sum += e[i] * moments.values[(group * n + i) * n + j] * e[j];
  }
  return sum;
}

// What a layer answers, squared and averaged, is its weights' quadratic form of the moments.
void expect_moments_of(const Model& model, uint64_t examples) {
  const uint64_t width = elements(model.input_shape());
  Noise noise(examples, width);
  const OpInfo* const op = sole_reader(model.graph(), model.graph().ops[0].inputs[1]);
  ASSERT_NE(op, nullptr);
  const auto found = input_moments(model, *op, noise, 1);
  ASSERT_OK(found);
  ASSERT_TRUE(found->has_value());
  const InputMoments& moments = **found;
  const auto outputs = static_cast<size_t>(model.output_shape().back());
  std::vector<float> answers(examples * static_cast<uint64_t>(elements(at_batch(model.output_shape(), 1))));
  const std::vector<std::span<const float>> inputs = {noise.all()};
  ASSERT_OK(Predictor::create(model, static_cast<uint32_t>(examples))->run(inputs, examples, answers));
  const TensorInfo& weight = model.graph().tensors[op->inputs[1]];
  const auto values = model.parameters().subspan(weight.payload_offset / sizeof(float), elements(weight.shape));
  for (size_t o = 0; o < outputs; ++o) {
    double squares = 0;
    for (size_t i = o; i < answers.size(); i += outputs) squares += std::pow(static_cast<double>(answers[i]), 2);
    std::vector<double> column;
    for (size_t i = o; i < values.size(); i += outputs) column.push_back(static_cast<double>(values[i]));
    const double expected = squares / static_cast<double>(answers.size() / outputs);
    EXPECT_NEAR(cost(moments, o * moments.groups / outputs, column), expected, 1e-5 * expected) << o;
  }
}

Model layer(const Shape& input, const ConvLayer& conv) {
  ModelBuilder build("one", input, 3);
  return *Model::load(*build.finish(build.conv2d(build.input(), conv)));
}

TEST(InputMoments, AreThoseOfWhatTheLayerReads) {
  ModelBuilder build("one", {7}, 3);
  expect_moments_of(*Model::load(*build.finish(build.dense(build.input(), 5))), 20);
  expect_moments_of(layer({6, 5, 4}, {.filters = 6, .kernel = 3, .pad = 1}), 12);
  expect_moments_of(layer({7, 7, 4}, {.filters = 6, .kernel = 3, .stride = 2, .pad = 1, .groups = 2}), 12);
  expect_moments_of(layer({5, 5, 3}, {.filters = 3, .kernel = 3, .groups = 3}), 12);
}

// Every third place of 40,000 or so is enough, and what is too wide is not looked at.
TEST(InputMoments, AreOfAPartOfMuchAndOfNothingTooWide) {
  const Model model = layer({32, 32, 1}, {.filters = 2, .kernel = 2, .pad = 0});
  Noise noise(41, 1024);
  const OpInfo& op = model.graph().ops[0];
  const auto found = input_moments(model, op, noise, 1);
  ASSERT_OK(found);
  // Uniform in [-1, 2]: mean .5, mean of squares 1; one standard error is below .01.
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 4; ++j) EXPECT_NEAR((*found)->values[i * 4 + j], i == j ? 1 : .25, .05);
  }
  ModelBuilder build("wide", {kMomentRowsMax + 1}, 3);
  const Model wide = *Model::load(*build.finish(build.dense(build.input(), 2)));
  Noise few(2, kMomentRowsMax + 1);
  const auto none = input_moments(wide, wide.graph().ops[0], few, 1);
  ASSERT_OK(none);
  EXPECT_FALSE(none->has_value());
  const Model many = layer({32, 32, 5}, {.filters = 5, .kernel = 32, .groups = 5});
  Noise images(2, elements({32, 32, 5}));
  const auto none_of_many = input_moments(many, many.graph().ops[0], images, 1);
  ASSERT_OK(none_of_many);
  EXPECT_FALSE(none_of_many->has_value()) << "five matrices of 8 MiB";
}

// Inputs that move together, some of them much more than others.
InputMoments correlated(size_t groups, size_t rows, uint64_t seed) {
  Prng prng(seed);
  InputMoments moments{.groups = groups, .rows = rows, .values = std::vector<double>(groups * rows * rows)};
  for (size_t sample = 0; sample < 3 * rows; ++sample) {
    for (size_t g = 0; g < groups; ++g) {
      std::vector<double> x(rows);
      const double common = prng.uniform(-1, 1);
      for (size_t i = 0; i < rows; ++i) x[i] = (common + prng.uniform(-.4, .4)) * static_cast<double>(1 + (5 * i) % 7);
      for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < rows; ++j) moments.values[(g * rows + i) * rows + j] += x[i] * x[j];
      }
    }
  }
  return moments;
}

std::vector<double> inverse(std::vector<double> a, size_t n) {
  std::vector<double> b(n * n);
  for (size_t i = 0; i < n; ++i) b[i * n + i] = 1;
  for (size_t i = 0; i < n; ++i) {
    const double pivot = a[i * n + i];  // of a positive definite matrix: never 0
    for (size_t j = 0; j < n; ++j) a[i * n + j] /= pivot, b[i * n + j] /= pivot;
    for (size_t k = 0; k < n; ++k) {
      const double times = a[k * n + i];
      if (k == i) continue;
      for (size_t j = 0; j < n; ++j) a[k * n + j] -= times * a[i * n + j], b[k * n + j] -= times * b[i * n + j];
    }
  }
  return b;
}

// OPTQ as its paper has it: round one, spread its loss over those that are left by the inverse of their moments.
std::vector<int16_t> optq(std::vector<double> w, float scale, uint32_t bits, const double* moments) {
  const size_t n = w.size();
  double mean = 0;
  for (size_t i = 0; i < n; ++i) mean += moments[i * n + i] / static_cast<double>(n);
  std::vector<size_t> left(n);
  std::iota(left.begin(), left.end(), size_t{0});
  std::ranges::stable_sort(left, {}, [&](size_t i) { return moments[i * n + i]; });
  std::vector<int16_t> q(n);
  while (!left.empty()) {
    const size_t m = left.size(), now = left.back();
    std::vector<double> part(m * m);
    for (size_t i = 0; i < m; ++i) {
      for (size_t j = 0; j < m; ++j) part[i * m + j] = moments[left[i] * n + left[j]] + (i == j ? .01 * mean : 0);
    }
    const std::vector<double> inv = inverse(part, m);
    q[now] = integer_on(static_cast<float>(w[now]), scale, bits);
    const double lost = (w[now] - static_cast<double>(scale) * q[now]) / inv[m * m - 1];
    for (size_t i = 0; i + 1 < m; ++i) w[left[i]] -= lost * inv[(m - 1) * m + i];
    left.pop_back();
  }
  return q;
}

TEST(CompensatedRounding, IsThatOfThePaper) {
  constexpr size_t kRows = 9, kOutputs = 6, kGroups = 2;
  Prng prng(5);
  std::vector<float> values(kRows * kOutputs);
  for (float& value : values) value = static_cast<float>(prng.uniform(-1, 1));
  const Shape shape = {kRows, kOutputs};
  const InputMoments moments = correlated(kGroups, kRows, 2);
  for (const uint32_t bits : {1u, 2u, 3u, 4u}) {
    const StoredWeights plain = to_integers(values, shape, 0, 1, RangeRule::least_mse, bits);
    const StoredWeights found = compensated(values, plain, moments);
    double lost_plain = 0, lost_now = 0;
    for (size_t o = 0; o < kOutputs; ++o) {
      const size_t group = o / (kOutputs / kGroups);
      std::vector<double> column, e_plain, e_now;
      const auto scale = static_cast<double>(plain.form.scales[o]),
                 scale_now = static_cast<double>(found.form.scales[o]);
      for (size_t i = o; i < values.size(); i += kOutputs) {
        column.push_back(static_cast<double>(values[i]));
        e_plain.push_back(column.back() - scale * plain.values[i]);
        e_now.push_back(column.back() - scale_now * found.values[i]);
      }
      const std::vector<int16_t> expected =
          optq(column, found.form.scales[o], bits, moments.values.data() + group * kRows * kRows);
      for (size_t i = 0; i < kRows; ++i) EXPECT_EQ(found.values[i * kOutputs + o], expected[i]) << bits << " " << i;
      lost_plain += cost(moments, group, e_plain), lost_now += cost(moments, group, e_now);
    }
    EXPECT_LT(lost_now, .7 * lost_plain) << bits;
  }
}

// Inputs that have nothing to do with each other make up for nothing: what is left is the nearest integer on a scale
// that loses no more. Moments that are no numbers leave all as it is.
TEST(CompensatedRounding, LeavesWhatCannotBeMadeUpFor) {
  Prng prng(6);
  std::vector<float> values(32);
  for (float& value : values) value = static_cast<float>(prng.uniform(-1, 1));
  const StoredWeights plain = to_integers(values, {8, 4}, 0, 1, RangeRule::least_mse, 3);
  InputMoments moments{.groups = 1, .rows = 8, .values = std::vector<double>(64)};
  for (const double largest : {0.0, 7.0}) {
    for (size_t i = 0; i < 8; ++i) moments.values[i * 9] = static_cast<double>(i) / 7 * largest;
    const StoredWeights found = compensated(values, plain, moments);
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(found.values[i], integer_on(values[i], found.form.scales[i % 4], 3)) << i;
    }
  }
  for (const double none : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    moments.values[9] = none;
    EXPECT_EQ(compensated(values, plain, moments).values, plain.values);
    EXPECT_EQ(compensated(values, plain, moments).form.scales, plain.form.scales);
  }
}

}  // namespace
}  // namespace coterie
