#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

using Dims = std::vector<size_t>;

WhereLoops where_loops(const Dims& condition, const Dims& a, const Dims& b) {
  return broadcast_loops<3>(
             {std::span<const size_t>(condition), std::span<const size_t>(a), std::span<const size_t>(b)})
      .value();
}

TEST(Where, ChoosesAndSendsTheGradientBackToTheChosen) {
  Prng prng(100);
  const WhereLoops loops = where_loops({6, 1, 40}, {5, 1}, {6, 5, 40});
  const size_t n = 1200;
  std::vector<int32_t> condition(240);
  for (int32_t& value : condition) value = static_cast<int32_t>(prng.below(3));
  const Operand a(5, prng), b(n, prng), dy(n, prng);
  Doubles y(n), da(5), db(n);
  const KernelTableOf<double>& reference = reference_kernels<double>();
  reference.where_forward(loops, condition.data(), a.exact.data(), b.exact.data(), y.data());
  reference.where_backward(loops, 1, condition.data(), dy.exact.data(), da.data());
  reference.where_backward(loops, 2, condition.data(), dy.exact.data(), db.data());
  for_each_table([&](const KernelTable& table) {
    GuardedBuffer<float> got_y(n), got_da(5), got_db(n);
    table.where_forward(loops, condition.data(), a.values.data(), b.values.data(), got_y.data());
    table.where_backward(loops, 1, condition.data(), dy.values.data(), got_da.data());
    table.where_backward(loops, 2, condition.data(), dy.values.data(), got_db.data());
    EXPECT_TRUE(is_close(got_y, y, Doubles(n, 1), 0));
    EXPECT_TRUE(is_close(got_da, da, Doubles(5, 240), gamma(160)));
    EXPECT_TRUE(is_close(got_db, db, Doubles(n, 1), 0));
  });
}

TEST(Compare, IsFalseForNaNAndBroadcasts) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float a[] = {1, 2, 3, nan}, b = 2;
  const Dims four = {4}, one = {1};
  const BinaryLoops loops = broadcast_loops<2>({std::span<const size_t>(four), std::span<const size_t>(one)}).value();
  const std::vector<std::pair<Comparison, std::vector<int32_t>>> wanted = {
      {Comparison::equal, {0, 1, 0, 0}},
      {Comparison::less, {1, 0, 0, 0}},
      {Comparison::less_or_equal, {1, 1, 0, 0}},
      {Comparison::greater, {0, 0, 1, 0}},
      {Comparison::greater_or_equal, {0, 1, 1, 0}},
  };
  for_each_table([&](const KernelTable& table) {
    for (const auto& [kind, want] : wanted) {
      std::vector<int32_t> got(4, -1);
      table.compare(kind, loops, a, &b, got.data());
      EXPECT_EQ(got, want);
    }
  });
}

TEST(Logical, TakesAnyNumberButZeroAsTrue) {
  const int32_t a[] = {0, 0, 5, -1}, b[] = {0, 7, 0, 2};
  const Dims four = {4};
  const BinaryLoops loops = broadcast_loops<2>({std::span<const size_t>(four), std::span<const size_t>(four)}).value();
  for_each_table([&](const KernelTable& table) {
    std::vector<int32_t> y(4);
    table.logical(Logical::conjunction, loops, a, b, y.data());
    EXPECT_EQ(y, (std::vector<int32_t>{0, 0, 0, 1}));
    table.logical(Logical::disjunction, loops, a, b, y.data());
    EXPECT_EQ(y, (std::vector<int32_t>{0, 1, 1, 1}));
    table.logical(Logical::exclusive, loops, a, b, y.data());
    EXPECT_EQ(y, (std::vector<int32_t>{0, 1, 1, 0}));
    table.logical_not(4, a, y.data());
    EXPECT_EQ(y, (std::vector<int32_t>{1, 1, 0, 0}));
  });
}

TEST(Convert, TruncatesTowardZeroAndSaturates) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float x[] = {1.9f, -1.9f, 3e9f, -3e9f, infinity, -infinity, nan, 0x1p31f, 2147483520.0f};
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max(), kMin = std::numeric_limits<int32_t>::min();
  for_each_table([&](const KernelTable& table) {
    std::vector<int32_t> y(9);
    table.to_int32(9, x, y.data());
    EXPECT_EQ(y, (std::vector<int32_t>{1, -1, kMax, kMin, kMax, kMin, 0, kMax, 2147483520}));
    float back[3];
    table.from_int32(3, y.data(), back);
    EXPECT_EQ(back[1], -1);
    EXPECT_EQ(back[2], 0x1p31f);
  });
}

}  // namespace
}  // namespace coterie::kernels::test
