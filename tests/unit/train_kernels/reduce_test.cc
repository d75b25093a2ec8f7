#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/train_kernels/gradient_check.h"
#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

constexpr double kUlp = 0x1p-23;
constexpr Reduction kKinds[] = {Reduction::sum, Reduction::mean, Reduction::max, Reduction::min, Reduction::l2};

struct Case {
  std::vector<size_t> dims;
  std::array<bool, 5> reduced;
};
const Case kCases[] = {
    {{7}, {true}},
    {{1}, {false}},
    {{5, 33}, {false, true}},
    {{200, 33}, {true, false}},
    {{3, 40, 5}, {false, true, false}},
    {{4, 3, 700}, {true, false, true}},
    {{3, 4, 2, 300}, {true, false, true, false}},
    {{2, 3, 2, 3, 5}, {true, false, true, false, true}},
    {{3000}, {true}},
};

ReductionLoops loops_of(const Case& c) { return reduction_loops(c.dims, std::span(c.reduced).first(c.dims.size())); }
size_t results(const Case& c) {
  size_t count = 1;
  for (size_t d = 0; d < c.dims.size(); ++d) count *= c.reduced[d] ? 1 : c.dims[d];
  return count;
}

TEST(Reduce, EqualsTheReferenceOverAnyDimensions) {
  Prng prng(110);
  for (const Case& c : kCases) {
    const ReductionLoops loops = loops_of(c);
    const size_t n = loops.count(), m = results(c);
    const Operand x(n, prng), dy(m, prng);
    for (const Reduction kind : kKinds) {
      Doubles y(m), dx(n);
      exact().reduce_forward(kind, loops, x.exact.data(), y.data());
      Operand kept(m, prng);  // y as a runtime has it
      for (size_t i = 0; i < m; ++i) kept.set(i, static_cast<float>(y[i]));
      exact().reduce_backward(kind, loops, x.exact.data(), kept.exact.data(), dy.exact.data(), dx.data());
      const bool reads = kind != Reduction::sum && kind != Reduction::mean;
      for_each_table([&](const KernelTable& table) {
        SCOPED_TRACE(static_cast<int>(kind));
        GuardedBuffer<float> got_y(m), got_dx(n);
        table.reduce_forward(kind, loops, x.values.data(), got_y.data());
        table.reduce_backward(kind, loops, reads ? x.values.data() : nullptr, reads ? kept.values.data() : nullptr,
                              dy.values.data(), got_dx.data());
        const double terms = static_cast<double>(n / m);
        const double size = kind == Reduction::sum ? terms : kind == Reduction::l2 ? std::sqrt(terms) : 1;
        EXPECT_TRUE(is_close(got_y, y, Doubles(m, size), gamma(std::min(terms, 160.0) + 2)));
        Doubles gradient(n, 1);
        for (size_t i = 0; i < n; ++i) gradient[i] += std::fabs(dx[i]);
        EXPECT_TRUE(is_close(got_dx, dx, gradient, 2 * kUlp));
      });
    }
  }
}

TEST(Reduce, GradientOfTheLargestGoesToTheFirstOfEquals) {
  const Case c{{2, 3}, {true, false}};
  const float x[] = {1, 5, 2, 1, 4, 3}, dy[] = {10, 20, 30};
  for_each_table([&](const KernelTable& table) {
    float y[3];
    std::vector<float> dx(6);
    table.reduce_forward(Reduction::max, loops_of(c), x, y);
    table.reduce_backward(Reduction::max, loops_of(c), x, y, dy, dx.data());
    EXPECT_EQ(dx, (std::vector<float>{10, 20, 0, 0, 0, 30}));
  });
}

TEST(Reduce, NormOfZerosHasNoGradient) {
  for_each_table([&](const KernelTable& table) {
    const Case c{{3}, {true}};
    const float x[] = {0, 0, 0}, dy = 1;
    float y, dx[3];
    table.reduce_forward(Reduction::l2, loops_of(c), x, &y);
    table.reduce_backward(Reduction::l2, loops_of(c), x, &y, &dy, dx);
    EXPECT_EQ(y, 0);
    EXPECT_EQ(dx[1], 0);
  });
}

TEST(Reduce, GradientIsTheDerivative) {
  Prng prng(111);
  const Case c{{2, 3, 2}, {true, false, true}};
  const ReductionLoops loops = loops_of(c);
  for (const Reduction kind : kKinds) {
    Doubles x = random(12, prng), y(3), dx(12);
    const Doubles dy = random(3, prng);
    const auto scalar = [&] {
      exact().reduce_forward(kind, loops, x.data(), y.data());
      return dot(dy, y);
    };
    scalar();
    exact().reduce_backward(kind, loops, x.data(), y.data(), dy.data(), dx.data());
    expect_gradient("x", x, dx, scalar);
  }
}

}  // namespace
}  // namespace coterie::kernels::test
