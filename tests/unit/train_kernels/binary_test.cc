#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/train_kernels/gradient_check.h"
#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

using Dims = std::vector<size_t>;
constexpr double kUlp = 0x1p-23;
constexpr Binary kKinds[] = {Binary::add, Binary::sub,     Binary::mul,    Binary::div,
                             Binary::pow, Binary::minimum, Binary::maximum};

struct Shapes {
  Dims a, b;
};
const Shapes kShapes[] = {
    {{7}, {7}},
    {{40, 33}, {33}},
    {{33}, {300, 33}},
    {{5, 17}, {1}},
    {{}, {3, 5}},
    {{4, 1}, {4, 21}},
    {{3, 1, 5}, {2, 1}},
    {{2, 3, 1, 4}, {3, 5, 1}},
    {{1, 6, 1, 300}, {2, 1, 4, 300}},
    {{2, 700}, {2, 1}},
    {{1, 1}, {1, 1}},
    {{9, 1100}, {9, 1}},
};

size_t product(const Dims& dims) {
  size_t count = 1;
  for (const size_t d : dims) count *= d;
  return count;
}
BinaryLoops loops_of(const Shapes& s) {
  return broadcast_loops<2>({std::span<const size_t>(s.a), std::span<const size_t>(s.b)}).value();
}

TEST(BroadcastLoops, AreCollapsedAndRefuseShapesThatDoNotFit) {
  EXPECT_EQ(loops_of({{2, 3, 4}, {2, 3, 4}}).rank, 1u);
  EXPECT_EQ(loops_of({{2, 3, 4}, {4}}).rank, 2u);
  EXPECT_EQ(loops_of({{2, 3, 4}, {3, 4}}).rank, 2u);
  EXPECT_EQ(loops_of({{2, 3, 4}, {3, 1}}).rank, 3u);
  EXPECT_EQ(loops_of({{1, 1}, {1}}).rank, 1u);
  EXPECT_EQ(loops_of({{5, 1}, {1, 6}}).count(), 30u);
  const Dims a = {2, 3}, b = {2}, deep(9, 1);
  EXPECT_FALSE((broadcast_loops<2>({std::span<const size_t>(a), std::span<const size_t>(b)})));
  EXPECT_FALSE((broadcast_loops<2>({std::span<const size_t>(a), std::span<const size_t>(deep)})));
}

TEST(Binary, EqualsTheReferenceForEveryBroadcast) {
  Prng prng(90);
  for (const Shapes& s : kShapes) {
    const BinaryLoops loops = loops_of(s);
    const Operand a(product(s.a), prng, 0.5, 2), b(product(s.b), prng, 0.5, 2), dy(loops.count(), prng);
    for (const Binary kind : kKinds) {
      Doubles y(loops.count()), da(product(s.a)), db(product(s.b)), da_size(da.size()), db_size(db.size());
      exact().binary_forward(kind, loops, a.exact.data(), b.exact.data(), y.data());
      exact().binary_backward(kind, 0, loops, a.exact.data(), b.exact.data(), dy.exact.data(), da.data());
      exact().binary_backward(kind, 1, loops, a.exact.data(), b.exact.data(), dy.exact.data(), db.data());
      exact().binary_backward(Binary::add, 0, loops, nullptr, nullptr, dy.magnitude.data(), da_size.data());
      exact().binary_backward(Binary::add, 1, loops, nullptr, nullptr, dy.magnitude.data(), db_size.data());
      for_each_table([&](const KernelTable& table) {
        SCOPED_TRACE(static_cast<int>(kind));
        GuardedBuffer<float> got_y(y.size()), got_da(da.size()), got_db(db.size());
        table.binary_forward(kind, loops, a.values.data(), b.values.data(), got_y.data());
        table.binary_backward(kind, 0, loops, a.values.data(), b.values.data(), dy.values.data(), got_da.data());
        table.binary_backward(kind, 1, loops, a.values.data(), b.values.data(), dy.values.data(), got_db.data());
        EXPECT_TRUE(is_close(got_y, y, Doubles(y.size(), 4), kUlp));
        // Every derivative is below 8 here; blocks of at most 2 * 128 additions to one sum are added in
        // double.
        const double terms = static_cast<double>(std::min<size_t>(loops.count(), 256));
        EXPECT_TRUE(is_close(got_da, da, da_size, 8 * gamma(terms + 4)));
        EXPECT_TRUE(is_close(got_db, db, db_size, 8 * gamma(terms + 4)));
      });
    }
  }
}

TEST(Binary, AMillionAddendsKeepTheirSum) {
  const Shapes s{{1 << 20}, {1}}, columns{{1 << 18, 4}, {4}};
  const std::vector<float> dy(1 << 20, 0.1f);
  const double sum = (1 << 20) * static_cast<double>(0.1f);  // added one by one it is off by 1 %, 4000 units
  for_each_table([&](const KernelTable& table) {
    float sums[4];
    table.binary_backward(Binary::add, 1, loops_of(s), nullptr, nullptr, dy.data(), sums);
    EXPECT_NEAR(sums[0], sum, sum * gamma(260));
    table.binary_backward(Binary::add, 1, loops_of(columns), nullptr, nullptr, dy.data(), sums);
    EXPECT_NEAR(sums[3], sum / 4, sum / 4 * gamma(260));
  });
}

TEST(Binary, APartIsTheSameAsInTheWhole) {
  Prng prng(91);
  const BinaryLoops loops = loops_of({{20, 30}, {30}});
  const Operand a(600, prng), b(30, prng);
  for_each_table([&](const KernelTable& table) {
    std::vector<float> y(600), some(600), db(30), some_db(30);
    table.binary_forward(Binary::mul, loops, a.values.data(), b.values.data(), y.data());
    table.binary_forward(Binary::mul, loops.part(0, 8), a.values.data() + loops.offset(0, 0, 12),
                         b.values.data() + loops.offset(1, 0, 12), some.data() + loops.offset(2, 0, 12));
    EXPECT_TRUE(std::equal(y.begin() + 360, y.end(), some.begin() + 360));
    table.binary_backward(Binary::mul, 1, loops, a.values.data(), nullptr, y.data(), db.data());
    table.binary_backward(Binary::mul, 1, loops.part(1, 11), a.values.data() + 7, nullptr, y.data() + 7,
                          some_db.data() + 7);
    EXPECT_TRUE(std::equal(db.begin() + 7, db.begin() + 18, some_db.begin() + 7));
  });
}

TEST(Binary, GradientIsTheDerivative) {
  Prng prng(92);
  for (const Shapes& s : {Shapes{{3, 1, 4}, {2, 1}}, Shapes{{5}, {5}}}) {
    const BinaryLoops loops = loops_of(s);
    for (const Binary kind : kKinds) {
      Doubles a = random(product(s.a), prng, 0.5, 2), b = random(product(s.b), prng, 0.5, 2), y(loops.count());
      Doubles da(a.size()), db(b.size());
      const Doubles dy = random(loops.count(), prng);
      exact().binary_backward(kind, 0, loops, a.data(), b.data(), dy.data(), da.data());
      exact().binary_backward(kind, 1, loops, a.data(), b.data(), dy.data(), db.data());
      const auto scalar = [&] {
        exact().binary_forward(kind, loops, a.data(), b.data(), y.data());
        return dot(dy, y);
      };
      expect_gradient("a", a, da, scalar);
      expect_gradient("b", b, db, scalar);
    }
  }
}

TEST(Binary, PowAndTiesHaveTheGradientsOfTheContract) {
  for_each_table([&](const KernelTable& table) {
    const float a[] = {0, 0, 3}, b[] = {0, 2, 2}, dy[] = {1, 1, 1};
    float y[3], da[3], db[3];
    const BinaryLoops loops = loops_of({{3}, {3}});
    table.binary_forward(Binary::pow, loops, a, b, y);
    table.binary_backward(Binary::pow, 0, loops, a, b, dy, da);
    table.binary_backward(Binary::pow, 1, loops, a, b, dy, db);
    EXPECT_EQ(y[0], 1);
    EXPECT_EQ(y[2], 9);
    EXPECT_EQ(da[0], 0);
    EXPECT_EQ(da[2], 6);
    EXPECT_EQ(db[0], 0);
    EXPECT_EQ(db[1], 0);
    table.binary_backward(Binary::maximum, 0, loops, a, b, dy, da);
    table.binary_backward(Binary::maximum, 1, loops, a, b, dy, db);
    EXPECT_EQ(da[0], 0.5f);
    EXPECT_EQ(db[0], 0.5f);
    EXPECT_EQ(da[1], 0);
    EXPECT_EQ(db[1], 1);
    const float two = 2;
    table.binary_forward(Binary::pow, loops_of({{3}, {1}}), a, &two, y);
    EXPECT_EQ(y[2], 9);
  });
}

}  // namespace
}  // namespace coterie::kernels::test
