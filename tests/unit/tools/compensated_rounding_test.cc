// Weights that make up for each other: the moments they go by, and the integers that come of it.
#include "tools/model/compensated_rounding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/predictor.h"
#include "tests/support/matchers.h"
#include "tools/model/int8_range.h"
#include "tools/model/integer_descent.h"

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

Result<std::optional<InputMoments>> moments_of(const Model& exact, const Model& rounded, const OpInfo& op,
                                               uint64_t count) {
  Noise noise(count, elements(exact.input_shape()));
  return input_moments(exact, rounded, op, noise, 1);
}

std::span<const float> values_of(const Model& model, uint32_t tensor) {
  const TensorInfo& info = model.graph().tensors[tensor];
  return model.parameters().subspan(info.payload_offset / sizeof(float), elements(info.shape));
}

// What a layer answers, squared and averaged, is its weights' quadratic form of the moments; not squared, their product
// with the means.
void expect_moments_of(const Model& model, uint64_t examples) {
  const OpInfo* const op = sole_reader(model.graph(), model.graph().ops[0].inputs[1]);
  ASSERT_NE(op, nullptr);
  const auto found = moments_of(model, model, *op, examples);
  ASSERT_OK(found);
  ASSERT_TRUE(found->has_value());
  const InputMoments& moments = **found;
  EXPECT_THAT(moments.cross, testing::Pointwise(testing::DoubleNear(1e-9), moments.values));
  EXPECT_EQ(moments.means, moments.exact_means);
  const auto outputs = static_cast<size_t>(model.output_shape().back());
  std::vector<float> answers(examples * static_cast<uint64_t>(elements(at_batch(model.output_shape(), 1))));
  const Noise noise(examples, elements(model.input_shape()));
  const std::vector<std::span<const float>> inputs = {noise.all()};
  ASSERT_OK(Predictor::create(model, static_cast<uint32_t>(examples))->run(inputs, examples, answers));
  const auto values = values_of(model, op->inputs[1]);
  const std::vector<double> sums =
      mean_shortfall(values, std::vector<float>(values.size()), moments);  // all of what is added up is missing
  for (size_t o = 0; o < outputs; ++o) {
    double squares = 0, mean = 0;
    for (size_t i = o; i < answers.size(); i += outputs) {
      squares += std::pow(static_cast<double>(answers[i]), 2);
      mean += static_cast<double>(answers[i]);
    }
    std::vector<double> column;
    for (size_t i = o; i < values.size(); i += outputs) column.push_back(static_cast<double>(values[i]));
    const auto places = static_cast<double>(answers.size() / outputs);
    EXPECT_NEAR(cost(moments, o * moments.groups / outputs, column), squares / places, 1e-5 * squares / places) << o;
    EXPECT_NEAR(sums[o], mean / places, 1e-5) << o;
    // Around the mean it is the variance.
    const double variance = squares / places - mean / places * mean / places;
    EXPECT_NEAR(cost(centred(moments), o * moments.groups / outputs, column), variance, 1e-5) << o;
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
  const auto found = moments_of(model, model, model.graph().ops[0], 41);
  ASSERT_OK(found);
  // Uniform in [-1, 2]: mean .5, mean of squares 1; one standard error is below .01.
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 4; ++j) EXPECT_NEAR((*found)->values[i * 4 + j], i == j ? 1 : .25, .05);
  }
  ModelBuilder build("wide", {kMomentRowsMax + 1}, 3);
  const Model wide = *Model::load(*build.finish(build.dense(build.input(), 2)));
  const auto none = moments_of(wide, wide, wide.graph().ops[0], 2);
  ASSERT_OK(none);
  EXPECT_FALSE(none->has_value());
  const Model many = layer({32, 32, 5}, {.filters = 5, .kernel = 32, .groups = 5});
  const auto none_of_many = moments_of(many, many, many.graph().ops[0], 2);
  ASSERT_OK(none_of_many);
  EXPECT_FALSE(none_of_many->has_value()) << "five matrices of 8 MiB";
}

// A layer whose inputs are three times what they were: y = 3 x.
TEST(InputMoments, AreOfBothNetworks) {
  ModelBuilder build("two", {4}, 3);
  const TensorId hidden = build.dense(build.input(), 6, false);
  const Model exact = *Model::load(*build.finish(build.dense(hidden, 2)));
  std::vector<float> values(exact.parameters().begin(), exact.parameters().end());
  const TensorInfo& first = exact.graph().tensors[exact.graph().ops[0].inputs[1]];
  for (uint64_t i = 0; i < elements(first.shape); ++i) values[first.payload_offset / sizeof(float) + i] *= 3;
  const Model rounded = *Model::load(exact.file_with(values));
  const OpInfo& op = exact.graph().ops[1];
  const auto before = moments_of(exact, exact, op, 20), now = moments_of(exact, rounded, op, 20);
  ASSERT_OK(before);
  ASSERT_OK(now);
  for (size_t i = 0; i < 36; ++i) {
    EXPECT_NEAR((*now)->values[i], 9 * (*before)->values[i], 1e-5);
    EXPECT_NEAR((*now)->cross[i], 3 * (*before)->values[i], 1e-5);
  }
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR((*now)->means[i], 3 * (*before)->means[i], 1e-5);
    EXPECT_EQ((*now)->exact_means[i], (*before)->means[i]);
  }
}

// Inputs that move together, some of them much more than others.
InputMoments correlated(size_t groups, size_t rows, uint64_t seed) {
  Prng prng(seed);
  InputMoments moments{.groups = groups, .rows = rows, .values = std::vector<double>(groups * rows * rows)};
  moments.means.resize(groups * rows);
  moments.exact_means.resize(groups * rows);
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
  moments.cross = moments.values;
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

// The paper's own measure, damped as there.
double damped_cost(const InputMoments& moments, size_t group, std::span<const double> e) {
  const size_t n = moments.rows;
  double mean = 0, squares = 0;
  for (size_t i = 0; i < n; ++i) {
    mean += moments.values[(group * n + i) * n + i] / static_cast<double>(n);
    squares += e[i] * e[i];
  }
  return cost(moments, group, e) + .01 * mean * squares;
}

TEST(CompensatedRounding, LosesNoMoreThanThePapers) {
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
      const double* const matrix = moments.values.data() + group * kRows * kRows;
      std::vector<double> column;
      for (size_t i = o; i < values.size(); i += kOutputs) column.push_back(static_cast<double>(values[i]));
      const auto lost = [&](const auto& integer_of, float scale) {
        std::vector<double> e;
        for (size_t i = 0; i < kRows; ++i) e.push_back(column[i] - static_cast<double>(scale) * integer_of(i));
        return e;
      };
      const auto of_plain = [&](size_t i) { return plain.values[i * kOutputs + o]; };
      const auto of_found = [&](size_t i) { return found.values[i * kOutputs + o]; };
      const auto e_now = lost(of_found, found.form.scales[o]);
      // On the scale of either.
      for (const float scale : {plain.form.scales[o], found.form.scales[o]}) {
        const std::vector<int16_t> papers = optq(column, scale, bits, matrix);
        const auto of_paper = [&](size_t i) { return papers[i]; };
        EXPECT_LE(damped_cost(moments, group, e_now), (1 + 1e-9) * damped_cost(moments, group, lost(of_paper, scale)))
            << bits << " " << o;
      }
      lost_plain += cost(moments, group, lost(of_plain, plain.form.scales[o]));
      lost_now += cost(moments, group, e_now);
    }
    EXPECT_LT(lost_now, .7 * lost_plain) << bits;
  }
}

// What is read is twice what was read: y = 2 x, so half of the weight adds up to the same. By hand: A = 4, C = 2, l =
// .04, t = (2 + .04) / (4 + .04) = .505 of w.
TEST(CompensatedRounding, MakesUpForWhatIsRead) {
  const std::vector<float> values = {1};
  const InputMoments moments{.groups = 1, .rows = 1, .values = {4}, .cross = {2}, .means = {.5}, .exact_means = {.25}};
  const StoredWeights found = compensated(values, to_integers(values, {1, 1}, 0, 1, RangeRule::min_max, 8), moments);
  const float weight = found.form.scales[0] * static_cast<float>(found.values[0]);
  EXPECT_NEAR(weight, .50495, 1e-5);
  // What is missing then: 1 * .25 - .505 * .5.
  EXPECT_NEAR(mean_shortfall(values, std::vector{weight}, moments)[0], .25 - .252475, 1e-5);
}

// Two inputs that are large and the same, but for a little: what both are off by on average is a bias's.
TEST(CompensatedRounding, LeavesTheMeanToABias) {
  // Around their mean of 10 the inputs vary by 1, without regard to each other.
  const InputMoments moments{.groups = 1,
                             .rows = 2,
                             .values = {101, 100, 100, 101},
                             .cross = {101, 100, 100, 101},
                             .means = {10, 10},
                             .exact_means = {10, 10}};
  EXPECT_THAT(centred(moments).values, testing::ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(centred(moments).cross, testing::ElementsAre(1, 0, 0, 1));
  // With the mean in view one weight is rounded down for the other; around it each is the nearest.
  const std::vector<double> target = {.6, .6};
  std::vector<int16_t> integers = {1, 1};
  EXPECT_NEAR(descend({.matrix = moments.values, .target = target, .bits = 8}, 1, integers),
              101 * (.16 + .36) - 200 * .24, 1e-9);
  EXPECT_THAT(integers, testing::ElementsAre(0, 1));
  const std::vector<double> around = centred(moments).values;
  integers = {0, 0};
  EXPECT_NEAR(descend({.matrix = around, .target = target, .bits = 8}, 1, integers), .32, 1e-9);
  EXPECT_THAT(integers, testing::ElementsAre(1, 1));
}

// Inputs that have nothing to do with each other make up for nothing: what is left is the nearest integer on a scale
// that loses no more. Moments that are no numbers leave all as it is.
TEST(CompensatedRounding, LeavesWhatCannotBeMadeUpFor) {
  Prng prng(6);
  std::vector<float> values(32);
  for (float& value : values) value = static_cast<float>(prng.uniform(-1, 1));
  const StoredWeights plain = to_integers(values, {8, 4}, 0, 1, RangeRule::least_mse, 3);
  InputMoments moments{.groups = 1, .rows = 8, .values = std::vector<double>(64)};
  moments.cross = moments.values;
  for (const double largest : {0.0, 7.0}) {
    for (size_t i = 0; i < 8; ++i) {
      moments.values[i * 9] = moments.cross[i * 9] = static_cast<double>(i) / 7 * largest;
    }
    const StoredWeights found = compensated(values, plain, moments);
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(found.values[i], integer_on(values[i], found.form.scales[i % 4], 3)) << i;
    }
  }
  for (const double none : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    for (std::vector<double>* const matrix : {&moments.values, &moments.cross}) {
      const double before = std::exchange((*matrix)[9], none);
      EXPECT_EQ(compensated(values, plain, moments).values, plain.values);
      EXPECT_EQ(compensated(values, plain, moments).form.scales, plain.form.scales);
      (*matrix)[9] = before;
    }
  }
}

}  // namespace
}  // namespace coterie
