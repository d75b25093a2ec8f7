#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

constexpr size_t kSizes[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 1001};
constexpr double kUlp = 0x1p-23;

Doubles ones(size_t n) { return Doubles(n, 1.0); }

TEST(Relu, ForwardAndBackwardEqualTheReferenceExactly) {
  Prng prng(11);
  for (const size_t n : kSizes) {
    const Operand x(n, prng), dy(n, prng);
    Doubles y(n), dx(n);
    reference_kernels<double>().relu_forward(n, x.exact.data(), y.data());
    reference_kernels<double>().relu_backward(n, y.data(), dy.exact.data(), dx.data());
    for_each_table([&](const KernelTable& table) {
      GuardedBuffer<float> got_y(n), got_dx(n);
      table.relu_forward(n, x.values.data(), got_y.data());
      table.relu_backward(n, got_y.data(), dy.values.data(), got_dx.data());
      EXPECT_TRUE(is_close(got_y, y, ones(n), 0)) << n;
      EXPECT_TRUE(is_close(got_dx, dx, ones(n), 0)) << n;
    });
  }
}

TEST(Relu, KeepsNaNSoThatDivergenceShows) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for_each_table([&](const KernelTable& table) {
    for (const size_t n : {3, 16, 19}) {
      GuardedBuffer<float> x(n), y(n);
      x.fill(-1);
      x[n - 1] = nan;
      table.relu_forward(n, x.data(), y.data());
      EXPECT_TRUE(std::isnan(y[n - 1])) << n;
      EXPECT_EQ(y[0], 0) << n;
    }
  });
}

TEST(Add, AndAccumulateEqualTheReferenceAlsoInPlace) {
  Prng prng(12);
  for (const size_t n : kSizes) {
    const Operand a(n, prng), b(n, prng);
    Doubles sum(n), magnitude(n);
    reference_kernels<double>().add(n, a.exact.data(), b.exact.data(), sum.data());
    reference_kernels<double>().add(n, a.magnitude.data(), b.magnitude.data(), magnitude.data());
    for_each_table([&](const KernelTable& table) {
      GuardedBuffer<float> apart(n), in_place(n);
      table.add(n, a.values.data(), b.values.data(), apart.data());
      std::copy(b.values.span().begin(), b.values.span().end(), in_place.data());
      table.accumulate(n, a.values.data(), in_place.data());
      EXPECT_TRUE(is_close(apart, sum, magnitude, kUlp)) << n;
      EXPECT_TRUE(is_close(in_place, sum, magnitude, kUlp)) << n;
    });
  }
}

TEST(RoundOntoGrid, EqualsTheReferenceExactly) {
  Prng prng(14);
  for (const size_t n : kSizes) {
    const Operand x(n, prng);
    // Ties, both ends of the grid, and what lies beyond.
    for (const auto& [scale, zero] : {std::pair{0.03125f, -3.0f}, {0.004f, -128.0f}, {0.25f, 127.0f}}) {
      std::vector<float> y(n);
      float low = 0, high = 0;
      const auto& reference = reference_kernels<float>();
      reference.round_onto_grid(n, scale, zero, x.values.data(), y.data());
      reference.least_and_largest(n, x.values.data(), &low, &high);
      for_each_table([&](const KernelTable& table) {
        GuardedBuffer<float> got_y(n);
        float got_low = 0, got_high = 0;
        table.round_onto_grid(n, scale, zero, x.values.data(), got_y.data());
        table.least_and_largest(n, x.values.data(), &got_low, &got_high);
        EXPECT_TRUE(std::ranges::equal(got_y.span(), y)) << n;
        EXPECT_EQ(got_low, low) << n;
        EXPECT_EQ(got_high, high) << n;
      });
    }
  }
}

TEST(RoundOntoGrid, KeepsNaNAndFindsNoRangeOfIt) {
  for_each_table([&](const KernelTable& table) {
    for (const float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      for (const size_t n : {1, 5, 16, 19}) {
        GuardedBuffer<float> x(n), y(n);
        x.fill(-1);
        x[n - 1] = odd;
        float low = 0, high = 0;
        table.least_and_largest(n, x.data(), &low, &high);
        EXPECT_TRUE(std::isnan(low) && std::isnan(high)) << n;
        table.round_onto_grid(n, 0.5f, 0, x.data(), y.data());
        EXPECT_EQ(std::isnan(y[n - 1]), std::isnan(odd)) << n;
      }
    }
  });
}

TEST(Sgd, StepEqualsTheReferenceWithAndWithoutMomentum) {
  Prng prng(13);
  for (const size_t n : kSizes) {
    for (const SgdStep& step : {SgdStep{0.1f, 0, 0}, SgdStep{0.05f, 0.9f, 0.01f}}) {
      const Operand g(n, prng), w(n, prng), v(n, prng);
      Doubles exact_w = w.exact, exact_v = v.exact;
      const bool momentum = step.momentum != 0;
      reference_kernels<double>().sgd_step(n, step, g.exact.data(), exact_w.data(),
                                           momentum ? exact_v.data() : nullptr);
      for_each_table([&](const KernelTable& table) {
        GuardedBuffer<float> got_w(n), got_v(n);
        std::copy(w.values.span().begin(), w.values.span().end(), got_w.data());
        std::copy(v.values.span().begin(), v.values.span().end(), got_v.data());
        table.sgd_step(n, step, g.values.data(), got_w.data(), momentum ? got_v.data() : nullptr);
        EXPECT_TRUE(is_close(got_w, exact_w, ones(n), 4 * kUlp)) << n;
        EXPECT_TRUE(is_close(got_v, exact_v, ones(n), 4 * kUlp)) << n;
      });
    }
  }
}

TEST(Adam, StepEqualsTheReference) {
  Prng prng(14);
  const AdamStep step{0.9f, 0.999f, 1e-8f, 0.01f, 0.002f, 3.0f};
  for (const size_t n : kSizes) {
    const Operand g(n, prng), w(n, prng), m(n, prng), v(n, prng, 0.01, 1);
    Doubles exact_w = w.exact, exact_m = m.exact, exact_v = v.exact;
    reference_kernels<double>().adam_step(n, step, g.exact.data(), exact_w.data(), exact_m.data(), exact_v.data());
    for_each_table([&](const KernelTable& table) {
      GuardedBuffer<float> got_w(n), got_m(n), got_v(n);
      std::copy(w.values.span().begin(), w.values.span().end(), got_w.data());
      std::copy(m.values.span().begin(), m.values.span().end(), got_m.data());
      std::copy(v.values.span().begin(), v.values.span().end(), got_v.data());
      table.adam_step(n, step, g.values.data(), got_w.data(), got_m.data(), got_v.data());
      EXPECT_TRUE(is_close(got_w, exact_w, ones(n), 4 * kUlp)) << n;
      EXPECT_TRUE(is_close(got_m, exact_m, ones(n), 4 * kUlp)) << n;
      EXPECT_TRUE(is_close(got_v, exact_v, ones(n), 4 * kUlp)) << n;
    });
  }
}

TEST(Adam, LeavesPaddingAtZero) {
  const AdamStep step{0.9f, 0.999f, 1e-8f, 0.01f, 0.002f, 3.0f};
  for_each_table([&](const KernelTable& table) {
    GuardedBuffer<float> g(5), w(5), m(5), v(5);
    for (auto* buffer : {&g, &w, &m, &v}) buffer->fill(0);
    table.adam_step(5, step, g.data(), w.data(), m.data(), v.data());
    for (const float value : w.span()) EXPECT_EQ(value, 0);
  });
}

TEST(Bfloat16, IsTheUpperHalfRoundedToTheNearestEven) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto value_of = [](uint32_t bits) { return std::bit_cast<float>(bits); };
  const std::pair<float, uint16_t> cases[] = {
      {0.0f, 0},
      {-0.0f, 0x8000},
      {1.0f, 0x3f80},
      {kInfinity, 0x7f80},
      {-kInfinity, 0xff80},
      {value_of(0x3f808000), 0x3f80},  // half way: to the even one
      {value_of(0x3f818000), 0x3f82},
      {value_of(0x3f808001), 0x3f81},
      {value_of(0x3f807fff), 0x3f80},
      {value_of(0x7f7fffff), 0x7f80},  // the largest float is nearer to infinity
      {value_of(0x7f800001), 0x7fc0},  // a NaN whose bits are all cut off
      {value_of(0xffc12345), 0xffc1}};
  for_each_table([&](const KernelTable& table) {
    for (const auto& [x, expected] : cases) {
      for (const size_t n : {1, 16, 21}) {
        GuardedBuffer<float> from(n);
        GuardedBuffer<uint16_t> to(n);
        from.fill(x);
        table.narrow(n, from.data(), to.data());
        EXPECT_TRUE(to.is_intact());
        for (size_t i = 0; i < n; ++i) EXPECT_EQ(to[i], expected) << x << " at " << i << " of " << n;
      }
    }
  });
}

TEST(Bfloat16, EqualsTheReferenceAndIsOffByAtMostHalfAUnit) {
  Prng prng(14);
  for (const size_t n : kSizes) {
    const Operand x(n, prng, -1000, 1000);
    std::vector<uint16_t> expected(n);
    reference_kernels<double>().narrow(n, x.exact.data(), expected.data());
    for_each_table([&](const KernelTable& table) {
      GuardedBuffer<uint16_t> half(n);
      GuardedBuffer<float> back(n);
      table.narrow(n, x.values.data(), half.data());
      table.widen(n, half.data(), back.data());
      EXPECT_TRUE(half.is_intact());
      for (size_t i = 0; i < n; ++i) EXPECT_EQ(half[i], expected[i]) << i;
      EXPECT_TRUE(is_close(back, x.exact, x.magnitude, 0x1p-8)) << n;
    });
  }
}

}  // namespace
}  // namespace coterie::kernels::test
