#include <gtest/gtest.h>

#include "tests/unit/train_kernels/kernel_tester.h"
#include "tests/unit/train_kernels/prepared_weights.h"
#include "train_kernels/workspace.h"

namespace coterie::kernels::test {
namespace {

// Around every edge of the tiles (4, 8 and 48 wide), of a vector, of the rules for packing and turning, and of a cut
// through K.
const DenseShape kShapes[] = {
    {1, 1, 1},     {1, 7, 3},     {2, 5, 17},    {3, 16, 16},   {4, 33, 48},   {5, 31, 49},  {7, 48, 47},
    {8, 64, 96},   {9, 65, 97},   {12, 400, 5},  {15, 6, 121},  {16, 120, 84}, {31, 84, 10}, {32, 27, 130},
    {64, 50, 100}, {67, 513, 53}, {3, 1100, 33}, {70, 21, 200}, {600, 9, 193},
};

std::string describe(const DenseShape& s) {
  return std::to_string(s.batch) + "x" + std::to_string(s.in) + "->" + std::to_string(s.out);
}

struct Case {
  Case(const DenseShape& s, Prng& prng)
      : x(s.batch * s.in, prng), w(s.in * s.out, prng), bias(s.out, prng), dy(s.batch * s.out, prng) {}
  Operand x, w, bias, dy;
};

GuardedBuffer<uint8_t> scratch(size_t bytes) { return GuardedBuffer<uint8_t>((bytes + 63) / 64 * 64); }

TEST(Dense, ForwardEqualsTheReferenceWithAndWithoutBiasAndRelu) {
  Prng prng(1);
  const auto& exact = reference_kernels<double>();
  for (const DenseShape& s : kShapes) {
    SCOPED_TRACE(describe(s));
    Case c(s, prng);
    GuardedBuffer<uint8_t> workspace = scratch(dense_forward_workspace(s));
    for (const bool with_bias : {false, true}) {
      for (const Activation activation : {Activation::none, Activation::relu, Activation::relu6}) {
        Doubles y(s.batch * s.out), magnitude(y.size());
        exact.dense_forward(s, {0, s.out}, c.x.exact.data(), c.w.exact.data(), nullptr,
                            with_bias ? c.bias.exact.data() : nullptr, activation, y.data(), nullptr);
        exact.dense_forward(s, {0, s.out}, c.x.magnitude.data(), c.w.magnitude.data(), nullptr,
                            with_bias ? c.bias.magnitude.data() : nullptr, Activation::none, magnitude.data(), nullptr);
        for_each_table([&](const KernelTable& table) {
          for (const Prepare how : {Prepare::where_it_pays, Prepare::always}) {
            const PreparedWeights w = PreparedWeights::forward(table, s, c.w.values.data(), how);
            GuardedBuffer<float> got(y.size());
            table.dense_forward(s, {0, s.out}, c.x.values.data(), c.w.values.data(), w.data(),
                                with_bias ? c.bias.values.data() : nullptr, activation, got.data(), workspace.data());
            EXPECT_TRUE(is_close(got, y, magnitude, gamma(static_cast<double>(s.in) + 2)));
          }
        });
      }
    }
  }
}

TEST(Dense, BackwardInputEqualsTheReference) {
  Prng prng(2);
  const auto& exact = reference_kernels<double>();
  for (const DenseShape& s : kShapes) {
    SCOPED_TRACE(describe(s));
    Case c(s, prng);
    GuardedBuffer<uint8_t> workspace = scratch(dense_backward_input_workspace(s));
    Doubles dx(s.batch * s.in), magnitude(dx.size());
    exact.dense_backward_input(s, {0, s.in}, c.dy.exact.data(), c.w.exact.data(), nullptr, dx.data(), nullptr);
    exact.dense_backward_input(s, {0, s.in}, c.dy.magnitude.data(), c.w.magnitude.data(), nullptr, magnitude.data(),
                               nullptr);
    for_each_table([&](const KernelTable& table) {
      for (const Prepare how : {Prepare::where_it_pays, Prepare::always}) {
        const PreparedWeights w = PreparedWeights::backward(table, s, c.w.values.data(), how);
        GuardedBuffer<float> got(dx.size());
        table.dense_backward_input(s, {0, s.in}, c.dy.values.data(), c.w.values.data(), w.data(), got.data(),
                                   workspace.data());
        EXPECT_TRUE(is_close(got, dx, magnitude, gamma(static_cast<double>(s.out) + 1)));
      }
    });
  }
}

TEST(Dense, BackwardWeightsEqualsTheReferenceWithAndWithoutBias) {
  Prng prng(3);
  const auto& exact = reference_kernels<double>();
  for (const DenseShape& s : kShapes) {
    SCOPED_TRACE(describe(s));
    Case c(s, prng);
    GuardedBuffer<uint8_t> workspace = scratch(dense_backward_weights_workspace(s));
    Doubles dw(s.in * s.out), dw_magnitude(dw.size()), dbias(s.out), dbias_magnitude(s.out);
    exact.dense_backward_weights(s, c.x.exact.data(), c.dy.exact.data(), dw.data(), dbias.data(), nullptr);
    exact.dense_backward_weights(s, c.x.magnitude.data(), c.dy.magnitude.data(), dw_magnitude.data(),
                                 dbias_magnitude.data(), nullptr);
    for_each_table([&](const KernelTable& table) {
      for (const bool with_bias : {false, true}) {
        GuardedBuffer<float> got(dw.size()), got_bias(s.out);
        table.dense_backward_weights(s, c.x.values.data(), c.dy.values.data(), got.data(),
                                     with_bias ? got_bias.data() : nullptr, workspace.data());
        const double bound = gamma(static_cast<double>(s.batch) + 1);
        EXPECT_TRUE(is_close(got, dw, dw_magnitude, bound));
        if (with_bias) {
          EXPECT_TRUE(is_close(got_bias, dbias, dbias_magnitude, bound));
        }
      }
    });
  }
}

TEST(Dense, TheSameCallGivesTheSameBitsAtAnyAlignment) {
  const DenseShape s{33, 70, 57};
  Prng prng(4);
  Case c(s, prng);
  std::vector<uint8_t> workspace(dense_forward_workspace(s) + 64);
  std::vector<float> x(c.x.values.size() + 1), first(s.batch * s.out), second(s.batch * s.out + 1);
  std::copy(c.x.values.span().begin(), c.x.values.span().end(), x.begin() + 1);
  for_each_table([&](const KernelTable& table) {
    table.dense_forward(s, {0, s.out}, c.x.values.data(), c.w.values.data(), nullptr, nullptr, Activation::none,
                        first.data(), workspace.data());
    table.dense_forward(s, {0, s.out}, x.data() + 1, c.w.values.data(), nullptr, nullptr, Activation::none,
                        second.data() + 1, workspace.data() + 4);
    EXPECT_EQ(std::memcmp(first.data(), second.data() + 1, first.size() * sizeof(float)), 0);
  });
}

TEST(Dense, BackwardWeightsInPartsGivesTheBitsOfTheWhole) {
  Prng prng(5);
  for (const DenseShape& s : kShapes) {
    SCOPED_TRACE(describe(s));
    Case c(s, prng);
    GuardedBuffer<uint8_t> workspace = scratch(dense_backward_weights_workspace(s));
    const size_t cut = s.in * 2 / 5;
    for_each_table([&](const KernelTable& table) {
      std::vector<float> whole(s.in * s.out), parts(whole.size()), bias(s.out), part_bias(s.out);
      table.dense_backward_weights(s, c.x.values.data(), c.dy.values.data(), whole.data(), bias.data(),
                                   workspace.data());
      table.dense_backward_weights_part(s, {0, cut}, c.x.values.data(), c.dy.values.data(), parts.data(), nullptr,
                                        workspace.data());
      table.dense_backward_weights_part(s, {cut, s.in}, c.x.values.data(), c.dy.values.data(), parts.data(),
                                        part_bias.data(), workspace.data());
      EXPECT_EQ(whole, parts);
      EXPECT_EQ(bias, part_bias);
    });
  }
}

}  // namespace
}  // namespace coterie::kernels::test
