// Products of operands rounded to bfloat16: held against the reference in double, which is given operands that were
// rounded before, so that the bound is that of a float32 sum alone; and against the definition of a sum, to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/unit/train_kernels/convolution_bound.h"
#include "tests/unit/train_kernels/kernel_tester.h"
#include "tests/unit/train_kernels/prepared_weights.h"
#include "tests/unit/train_kernels/rnn_tester.h"
#include "train_kernels/bfloat16_kernels.h"
#include "train_kernels/conv2d_algorithm.h"
#include "train_kernels/workspace.h"

namespace coterie::kernels::test {
namespace {

float rounded(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7f800000) == 0) return std::bit_cast<float>(bits & 0x80000000);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}

// A random operand, and what products read of it, in double: rounded, or as it is where they have too few columns.
struct Rounded {
  Rounded(size_t count, Prng& prng) : values(count) {
    for (Doubles* doubles : {&exact[0], &exact[1], &magnitude[0], &magnitude[1]}) doubles->resize(count);
    for (size_t i = 0; i < count; ++i) {
      values[i] = static_cast<float>(prng.uniform(-1, 1));
      for (const bool is_rounded : {false, true}) {
        exact[is_rounded][i] = static_cast<double>(is_rounded ? rounded(values[i]) : values[i]);
        magnitude[is_rounded][i] = std::fabs(exact[is_rounded][i]);
      }
    }
  }
  const double* read(size_t columns) const { return exact[columns > 16].data(); }
  const double* read_magnitude(size_t columns) const { return magnitude[columns > 16].data(); }
  GuardedBuffer<float> values;
  Doubles exact[2], magnitude[2];
};

GuardedBuffer<uint8_t> scratch(size_t bytes) { return GuardedBuffer<uint8_t>((bytes + 63) / 64 * 64); }

class Bfloat16Kernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (bfloat16_kernels() == nullptr) GTEST_SKIP() << "this CPU has no products of bfloat16";
  }
  const KernelTable& table() const { return *bfloat16_kernels(); }
  const KernelTableOf<double>& exact() const { return reference_kernels<double>(); }
};

// Odd K, more than one piece of it, rows and columns around every tile, and a batch that is cut.
const DenseShape kDense[] = {{9, 40, 64},   {3, 25, 30},  {1, 1, 1},     {1, 7, 3},    {2, 5, 17},
                             {3, 16, 16},   {4, 33, 48},  {5, 31, 49},   {15, 6, 121}, {17, 2, 65},
                             {67, 513, 53}, {70, 21, 97}, {33, 1100, 7}, {600, 9, 50}};

TEST_F(Bfloat16Kernels, DenseLayersAreTheReferenceOfRoundedOperands) {
  Prng prng(1);
  for (const DenseShape& s : kDense) {
    SCOPED_TRACE(std::to_string(s.batch) + "x" + std::to_string(s.in) + "->" + std::to_string(s.out));
    const Rounded x(s.batch * s.in, prng), w(s.in * s.out, prng), dy(s.batch * s.out, prng);
    const Operand bias(s.out, prng);
    Doubles y(s.batch * s.out), y_bound(y.size()), dx(x.values.size()), dx_bound(dx.size()), dw(w.values.size()),
        dw_bound(dw.size());
    exact().dense_forward(s, {0, s.out}, x.read(s.out), w.read(s.out), nullptr, bias.exact.data(), Activation::relu,
                          y.data(), nullptr);
    exact().dense_forward(s, {0, s.out}, x.read_magnitude(s.out), w.read_magnitude(s.out), nullptr,
                          bias.magnitude.data(), Activation::none, y_bound.data(), nullptr);
    exact().dense_backward_input(s, {0, s.in}, dy.read(s.in), w.read(s.in), nullptr, dx.data(), nullptr);
    exact().dense_backward_input(s, {0, s.in}, dy.read_magnitude(s.in), w.read_magnitude(s.in), nullptr,
                                 dx_bound.data(), nullptr);
    exact().dense_backward_weights(s, x.read(s.out), dy.read(s.out), dw.data(), nullptr, nullptr);
    exact().dense_backward_weights(s, x.read_magnitude(s.out), dy.read_magnitude(s.out), dw_bound.data(), nullptr,
                                   nullptr);
    std::vector<float> first_y, first_dx;
    for (const Prepare how : {Prepare::where_it_pays, Prepare::always}) {
      const PreparedWeights forward = PreparedWeights::forward(table(), s, w.values.data(), how);
      GuardedBuffer<uint8_t> workspace = scratch(dense_forward_workspace(s));
      GuardedBuffer<float> got(y.size());
      table().dense_forward(s, {0, s.out}, x.values.data(), w.values.data(), forward.data(), bias.values.data(),
                            Activation::relu, got.data(), workspace.data());
      EXPECT_TRUE(is_close(got, y, y_bound, gamma(static_cast<double>(s.in) + 2)));
      EXPECT_TRUE(workspace.is_intact());
      const PreparedWeights backward = PreparedWeights::backward(table(), s, w.values.data(), how);
      GuardedBuffer<uint8_t> backward_workspace = scratch(dense_backward_input_workspace(s));
      GuardedBuffer<float> got_dx(dx.size());
      table().dense_backward_input(s, {0, s.in}, dy.values.data(), w.values.data(), backward.data(), got_dx.data(),
                                   backward_workspace.data());
      EXPECT_TRUE(is_close(got_dx, dx, dx_bound, gamma(static_cast<double>(s.out) + 1)));
      // Prepared or not, whole or a row alone: the same bits.
      const std::vector<float> now_y(got.span().begin(), got.span().end());
      const std::vector<float> now_dx(got_dx.span().begin(), got_dx.span().end());
      if (how == Prepare::where_it_pays) first_y = now_y, first_dx = now_dx;
      EXPECT_EQ(now_y, first_y);
      EXPECT_EQ(now_dx, first_dx);
      const size_t last = s.batch - 1;
      std::vector<float> alone(s.out);
      table().dense_forward({1, s.in, s.out}, {0, s.out}, x.values.data() + last * s.in, w.values.data(), nullptr,
                            bias.values.data(), Activation::relu, alone.data(), workspace.data());
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), now_y.begin() + static_cast<ptrdiff_t>(last * s.out)));
    }
    GuardedBuffer<uint8_t> workspace = scratch(dense_backward_weights_workspace(s));
    GuardedBuffer<float> got(dw.size());
    table().dense_backward_weights(s, x.values.data(), dy.values.data(), got.data(), nullptr, workspace.data());
    EXPECT_TRUE(is_close(got, dw, dw_bound, gamma(static_cast<double>(s.batch) + 1)));
    std::vector<float> parts(dw.size());
    for (const Range rows : {Range{0, s.in * 2 / 5}, Range{s.in * 2 / 5, s.in}}) {
      table().dense_backward_weights_part(s, rows, x.values.data(), dy.values.data(), parts.data(), nullptr,
                                          workspace.data());
    }
    EXPECT_TRUE(std::equal(parts.begin(), parts.end(), got.span().begin()));
  }
}

// Threads share the packing of weights: their parts begin and end within a group of k.
TEST_F(Bfloat16Kernels, WeightsThatWerePreparedInPartsAreTheSame) {
  Prng prng(5);
  for (const DenseShape& s : {DenseShape{70, 21, 97}, DenseShape{70, 6, 121}, DenseShape{70, 1, 65}}) {
    const Floats x = draw(s.batch * s.in, prng), w = draw(s.in * s.out, prng), dy = draw(s.batch * s.out, prng);
    const auto products = [&](size_t cut) {
      const PreparedWeights forward = PreparedWeights::forward(table(), s, w.data(), Prepare::always, cut);
      const PreparedWeights backward = PreparedWeights::backward(table(), s, w.data(), Prepare::always, cut);
      Floats y(s.batch * s.out), dx(s.batch * s.in);
      GuardedBuffer<uint8_t> workspace = scratch(dense_forward_workspace(s));
      table().dense_forward(s, {0, s.out}, x.data(), w.data(), forward.data(), nullptr, Activation::none, y.data(),
                            workspace.data());
      GuardedBuffer<uint8_t> backward_workspace = scratch(dense_backward_input_workspace(s));
      table().dense_backward_input(s, {0, s.in}, dy.data(), w.data(), backward.data(), dx.data(),
                                   backward_workspace.data());
      return std::pair(y, dx);
    };
    const auto whole = products(~size_t{0});
    for (const size_t cut : {1, 2, 3, 4, 5, 6, 7, 18, 20}) EXPECT_TRUE(products(cut) == whole) << "cut at " << cut;
  }
}

// A row alone meets several panels at once: every number of them, and of vectors behind them.
TEST_F(Bfloat16Kernels, ARowAloneHasTheBitsOfOneOfMany) {
  Prng prng(6);
  for (const size_t out : {96, 97, 112, 128, 144, 160, 192, 208, 240, 304}) {
    for (const size_t in : {5, 600}) {
      const DenseShape s{3, in, out};
      const Floats x = draw(s.batch * in, prng), w = draw(in * out, prng);
      const PreparedWeights prepared = PreparedWeights::forward(table(), s, w.data(), Prepare::always);
      ASSERT_NE(prepared.data(), nullptr);
      GuardedBuffer<uint8_t> workspace = scratch(dense_forward_workspace(s));
      const auto forward = [&](size_t batch, const float* rows) {
        GuardedBuffer<float> y(batch * out);
        table().dense_forward({batch, in, out}, {0, out}, rows, w.data(), prepared.data(), nullptr, Activation::none,
                              y.data(), workspace.data());
        EXPECT_TRUE(y.is_intact());
        return Floats(y.span().begin(), y.span().end());
      };
      const Floats many = forward(3, x.data());
      for (size_t row = 0; row < 3; ++row) {
        const Floats alone = forward(1, x.data() + row * in);
        EXPECT_TRUE(std::equal(alone.begin(), alone.end(), many.begin() + static_cast<ptrdiff_t>(row * out)))
            << in << " to " << out << ", row " << row;
      }
    }
  }
}

// Odd channels and widths, strides, dilations, groups, uneven borders, few filters (pixels are joined), several images
// in one product, and a sum of several pieces.
std::vector<Conv2dShape> convolutions() {
  return {{2, 9, 7, 1, 5, 5, 6},
          {3, 8, 9, 3, 3, 3, 20, 2, 2, 1, 1, 1, 1},
          {2, 7, 7, 5, 1, 1, 33},
          {1, 12, 11, 16, 5, 5, 32, 1, 1, 2, 2, 2, 2},
          {4, 5, 5, 33, 3, 3, 17, 2, 1, 1, 0, 0, 1},
          {2, 6, 6, 6, 3, 3, 8, 1, 1, 1, 1, 1, 1, 2},
          {2, 10, 11, 20, 3, 4, 19, 1, 1, 2, 0, 1, 2},
          {1, 6, 5, 75, 1, 7, 40, 1, 1, 0, 3, 0, 3},
          {1, 9, 9, 4, 3, 3, 50, 1, 1, 2, 2, 2, 2, 1, 2, 2}};
}

TEST_F(Bfloat16Kernels, ConvolutionsAreTheReferenceOfRoundedOperands) {
  Prng prng(2);
  for (const Conv2dShape& s : convolutions()) {
    SCOPED_TRACE(std::to_string(s.height) + "x" + std::to_string(s.width) + "x" + std::to_string(s.channels) + " o" +
                 std::to_string(s.filters));
    ASSERT_TRUE(conv2d_algorithm(s) == Conv2dAlgorithm::direct || s.is_pointwise());
    const size_t filters = s.filters / s.groups, depth = s.channels / s.groups;
    // Where dx is no convolution, taps of a kernel row are columns.
    const bool has_rows = s.groups == 1 && s.dilation_w == 1;
    const size_t channels = gradient_has_rows(s) || !has_rows ? depth : depth * s.kernel_w;
    const size_t outputs = s.batch * s.out_h() * s.out_w() * s.filters;
    const Rounded x(s.batch * s.height * s.width * s.channels, prng), w(s.taps() * s.filters, prng), dy(outputs, prng);
    Doubles y(outputs), y_bound(outputs), dx(x.values.size()), dx_bound(dx.size()), dw(w.values.size()),
        dw_bound(dw.size());
    exact().conv2d_forward(s, x.read(filters), w.read(filters), nullptr, nullptr, Activation::none, y.data(), nullptr);
    exact().conv2d_forward(s, x.read_magnitude(filters), w.read_magnitude(filters), nullptr, nullptr, Activation::none,
                           y_bound.data(), nullptr);
    exact().conv2d_backward_input(s, dy.read(channels), w.read(channels), nullptr, dx.data(), nullptr);
    exact().conv2d_backward_input(s, dy.read_magnitude(channels), w.read_magnitude(channels), nullptr, dx_bound.data(),
                                  nullptr);
    exact().conv2d_backward_weights(s, x.read(filters), dy.read(filters), dw.data(), nullptr, nullptr);
    exact().conv2d_backward_weights(s, x.read_magnitude(filters), dy.read_magnitude(filters), dw_bound.data(), nullptr,
                                    nullptr);
    for (const Prepare how : {Prepare::where_it_pays, Prepare::always}) {
      const PreparedWeights forward = PreparedWeights::forward(table(), s, w.values.data(), how);
      GuardedBuffer<uint8_t> workspace = scratch(conv2d_forward_workspace(s));
      GuardedBuffer<float> got(outputs);
      table().conv2d_forward(s, x.values.data(), w.values.data(), forward.data(), nullptr, Activation::none, got.data(),
                             workspace.data());
      EXPECT_TRUE(is_close(got, y, y_bound, gamma(static_cast<double>(s.taps()) + 1)));
      const PreparedWeights backward = PreparedWeights::backward(table(), s, w.values.data(), how);
      if (backward.data() == nullptr && prepares_conv2d_backward_input(s)) continue;
      GuardedBuffer<uint8_t> backward_workspace = scratch(conv2d_backward_input_workspace(s));
      GuardedBuffer<float> got_dx(dx.size());
      table().conv2d_backward_input(s, dy.values.data(), w.values.data(), backward.data(), got_dx.data(),
                                    backward_workspace.data());
      // Pieces of a kernel row are sums of their own, added up.
      EXPECT_TRUE(is_close(got_dx, dx, dx_bound, gamma(static_cast<double>(s.taps() * s.filters / s.groups) + 1)));
    }
    GuardedBuffer<uint8_t> workspace = scratch(conv2d_backward_weights_workspace(s));
    GuardedBuffer<float> got(dw.size());
    table().conv2d_backward_weights(s, x.values.data(), dy.values.data(), got.data(), nullptr, workspace.data());
    EXPECT_TRUE(is_close(got, dw, dw_bound, gamma(static_cast<double>(s.batch * s.out_h() * s.out_w()) + 1)));
    EXPECT_TRUE(workspace.is_intact());
  }
}

// Transformed operands are rounded, F(4x4)'s are not: 2^-8 of each operand, and of the sums that transforms make.
TEST_F(Bfloat16Kernels, TransformedConvolutionsKeepToTheirRounding) {
  Prng prng(4);
  for (const auto& [s, algorithm] :
       {std::pair(Conv2dShape{2, 6, 6, 100, 3, 3, 90, 1, 1, 1, 1, 1, 1}, Conv2dAlgorithm::winograd_2x2),
        std::pair(Conv2dShape{1, 12, 12, 64, 3, 3, 70, 1, 1, 1, 1, 1, 1}, Conv2dAlgorithm::winograd_4x4)}) {
    ASSERT_EQ(name_of(conv2d_algorithm(s)), name_of(algorithm));
    const Operand x(s.batch * s.height * s.width * s.channels, prng), w(s.taps() * s.filters, prng);
    Doubles y(s.batch * s.out_h() * s.out_w() * s.filters);
    exact().conv2d_forward(s, x.exact.data(), w.exact.data(), nullptr, nullptr, Activation::none, y.data(), nullptr);
    const ConvolutionBound bound(s, x.magnitude, w.magnitude, {});
    const PreparedWeights prepared = PreparedWeights::forward(table(), s, w.values.data());
    GuardedBuffer<uint8_t> workspace = scratch(conv2d_forward_workspace(s));
    GuardedBuffer<float> got(y.size());
    table().conv2d_forward(s, x.values.data(), nullptr, prepared.data(), nullptr, Activation::none, got.data(),
                           workspace.data());
    const double rounding = algorithm == Conv2dAlgorithm::winograd_2x2 ? 0x1p-7 + 0x1p-16 : 0;
    EXPECT_TRUE(is_close(got, y, bound.magnitude, bound.relative + rounding)) << name_of(algorithm);
    EXPECT_TRUE(workspace.is_intact());
  }
}

// What one step rounds, the next takes up: the bound is of the whole, beside the same layer in float32.
TEST_F(Bfloat16Kernels, RecurrentLayersKeepToTheirRounding) {
  for (const RnnCell cell : kRnnCells) {
    for (const RnnShape& s : {RnnShape{cell, 5, 3, 4, 7, 7}, RnnShape{cell, 3, 9, 5, 16, 35, true},
                              RnnShape{cell, 2, 70, 8, 48, 96}, RnnShape{cell, 4, 2, 17, 33, 33, true}}) {
      SCOPED_TRACE(testing::Message() << "cell " << static_cast<int>(cell) << " hidden " << s.hidden);
      Prng prng(61);
      const RnnRun<float> operands(s, prng, true, true);
      RnnRun<float> plain = operands, got = operands, cut = operands;
      plain.run(kernels());
      got.run(table());
      cut.run(table(), s.batch / 2, s.columns() / 3);
      for (size_t i = 0; i < got.results().size(); ++i) {
        const auto& a = *got.results()[i];
        const auto& b = *plain.results()[i];
        double difference = 0, norm = 0;
        for (size_t j = 0; j < a.size(); ++j) {
          difference += std::pow(static_cast<double>(a[j]) - static_cast<double>(b[j]), 2);
          norm += std::pow(static_cast<double>(b[j]), 2);
        }
        EXPECT_LE(std::sqrt(difference), 0x1p-6 * std::sqrt(norm)) << "result " << i;
        EXPECT_EQ(*cut.results()[i], a) << "result " << i << " in parts";
      }
    }
  }
}

float flushed(float v) { return std::fabs(v) < 0x1p-126f ? std::copysign(0.0f, v) : v; }

// a + b, rounded to odd: cut, and the last bit set if that lost anything.
float odd_sum(float a, float b) {
  const float near = a + b, of_b = near - a;
  const float lost = (a - (near - of_b)) + (b - of_b);  // exact
  if (lost == 0) return flushed(near);
  const uint32_t cut = std::bit_cast<uint32_t>(near) - (std::signbit(lost) != std::signbit(near) ? 1 : 0);
  return flushed(std::bit_cast<float>(cut | 1));
}

// The definition (gemm_bfloat16_inl.h): pairs of k; of vdpbf16ps each the odd one first and each sum rounded, of bfmmla
// the pair's sum rounded to odd, and the sum with it; denormal numbers are 0; pieces, of whole groups, are added.
float defined_sum(const float* x, const float* w, size_t k) {
  const bool is_by_pairs = bfloat16_kernels()->name == "neon_bf16";
  const size_t group = is_by_pairs ? 4 : 2, piece = (piece_length(k) + group - 1) / group * group;
  float total = 0;
  for (size_t begin = 0; begin < k; begin += piece) {
    float sum = 0;
    for (size_t i = begin; i < std::min(k, begin + piece); i += 2) {
      const auto product = [&](size_t at) { return at < k ? flushed(rounded(x[at]) * rounded(w[at])) : 0.0f; };
      if (is_by_pairs) {
        sum = odd_sum(sum, odd_sum(product(i), product(i + 1)));
        continue;
      }
      for (const size_t at : {i + 1, i}) {
        if (at < k) sum = flushed(std::fma(rounded(x[at]), rounded(w[at]), sum));
      }
    }
    total = begin == 0 ? sum : total + sum;
  }
  return total;
}

TEST_F(Bfloat16Kernels, ASumIsDefinedToTheBit) {
  Prng prng(3);
  for (const size_t k :
       {size_t{1}, size_t{2}, size_t{3}, size_t{5}, size_t{8}, size_t{37}, size_t{512}, size_t{513}, size_t{1601}}) {
    const DenseShape s{3, k, 17};
    Floats x = draw(s.batch * k, prng), w = draw(k * s.out, prng), column(k), y(3 * s.out);
    for (size_t i = 0; i < k; ++i) column[i] = w[i * s.out + 5];
    x[0] = 0x1p-130f;  // counts as nothing
    std::fill(x.begin() + static_cast<ptrdiff_t>(k), x.begin() + static_cast<ptrdiff_t>(2 * k), 0x1p-70f);
    if (k > 1) x[2 * k + 1] = 0x1.01p0f;  // halfway between two: to the even one
    std::vector<uint8_t> workspace(dense_forward_workspace(s) + 64);
    table().dense_forward(s, {0, s.out}, x.data(), w.data(), nullptr, nullptr, Activation::none, y.data(),
                          workspace.data());
    for (size_t row = 0; row < 3; ++row) {
      EXPECT_EQ(std::bit_cast<uint32_t>(y[row * s.out + 5]),
                std::bit_cast<uint32_t>(defined_sum(x.data() + row * k, column.data(), k)))
          << k << " terms, row " << row;
    }
  }
}

TEST_F(Bfloat16Kernels, WhatIsNotANumberAndWhatIsInfiniteStaysSo) {
  const DenseShape s{2, 5, 18};
  Floats x(10, 1.0f), w(90, 1.0f), y(36);
  x[3] = std::nanf("");
  x[9] = INFINITY;
  std::vector<uint8_t> workspace(dense_forward_workspace(s) + 64);
  table().dense_forward(s, {0, s.out}, x.data(), w.data(), nullptr, nullptr, Activation::none, y.data(),
                        workspace.data());
  for (size_t i = 0; i < s.out; ++i) {
    EXPECT_TRUE(std::isnan(y[i]));
    EXPECT_EQ(y[s.out + i], INFINITY);
  }
}

// For a run on a CPU that is known (an emulated one): else nothing would say that its kernels were not asked.
TEST(Bfloat16Choice, IsOfTheKernelsOfTheCpu) {
  const char* const expected = std::getenv("COTERIE_EXPECTED_BFLOAT16");
  if (expected == nullptr) GTEST_SKIP() << "COTERIE_EXPECTED_BFLOAT16 names none";
  EXPECT_EQ(bfloat16_kernels() == nullptr ? "none" : bfloat16_kernels()->name, expected);
}

}  // namespace
}  // namespace coterie::kernels::test
