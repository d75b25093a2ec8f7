// Preparing weights in parts, and products of columns alone: the same bits as in one call.
#include "tests/unit/train_kernels/prepared_weights.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

// Few rows and many, one panel and several, one piece of a sum and several.
const DenseShape kDense[] = {{1, 40, 200},   {2, 530, 97},   {49, 120, 193},
                             {130, 33, 250}, {400, 200, 24}, {500, 16, 300}};

std::vector<Conv2dShape> convolutions() {
  std::vector<Conv2dShape> all = {
      {1, 7, 7, 70, 3, 3, 200, 1, 1, 1, 1, 1, 1},     // Winograd
      {1, 14, 14, 100, 3, 3, 36, 1, 1, 1, 1, 1, 1},   // of larger tiles
      {2, 7, 7, 112, 5, 5, 120, 1, 1, 2, 2, 2, 2},    // direct
      {9, 7, 7, 112, 5, 5, 120, 1, 1, 2, 2, 2, 2},    // of more rows
      {1, 23, 20, 18, 5, 5, 101, 1, 1, 2, 2, 2, 2},   // one image of more
      {2, 9, 8, 40, 3, 3, 50, 2, 2, 1, 1, 1, 1},      // dx is spread
      {2, 8, 8, 64, 3, 3, 96, 1, 1, 1, 1, 1, 1, 2},   // groups
      {2, 8, 8, 36, 3, 3, 36, 1, 1, 1, 1, 1, 1, 36},  // depthwise
      {1, 7, 7, 130, 1, 1, 210},                      // dense
  };
  all.push_back({1, 9, 9, 32, 3, 3, 100, 1, 1, 2, 2, 2, 2});
  all.back().dilation_h = all.back().dilation_w = 2;
  return all;
}

std::string describe(const Conv2dShape& s) {
  return std::to_string(s.batch) + "x" + std::to_string(s.height) + "x" + std::to_string(s.channels) + " k" +
         std::to_string(s.kernel_h) + " o" + std::to_string(s.filters) + " s" + std::to_string(s.stride_h) + " g" +
         std::to_string(s.groups);
}

// make(cut) prepares in the parts [0, cut) and [cut, end).
template <typename Make>
void expect_same_in_parts(size_t bytes, const Make& make) {
  const PreparedWeights whole = make(~size_t{0});
  ASSERT_EQ(whole.data() == nullptr, bytes == 0);
  for (const size_t cut : {1, 8, 19}) {
    const PreparedWeights parts = make(cut);
    if (bytes != 0) {
      EXPECT_EQ(std::memcmp(whole.data(), parts.data(), bytes), 0);
    }
  }
}

TEST(PreparedWeights, AreTheSameBytesInParts) {
  Prng prng(40);
  for (const DenseShape& s : kDense) {
    const Floats w = draw(s.in * s.out, prng);
    for_each_table([&](const KernelTable& table) {
      expect_same_in_parts(dense_forward_prepared_bytes(s), [&](size_t cut) {
        return PreparedWeights::forward(table, s, w.data(), Prepare::always, cut);
      });
      expect_same_in_parts(dense_backward_input_prepared_bytes(s), [&](size_t cut) {
        return PreparedWeights::backward(table, s, w.data(), Prepare::always, cut);
      });
    });
  }
  for (const Conv2dShape& s : convolutions()) {
    SCOPED_TRACE(describe(s));
    const Floats w = draw(s.taps() * s.filters, prng);
    for_each_table([&](const KernelTable& table) {
      expect_same_in_parts(conv2d_forward_prepared_bytes(s), [&](size_t cut) {
        return PreparedWeights::forward(table, s, w.data(), Prepare::always, cut);
      });
      expect_same_in_parts(conv2d_backward_input_prepared_bytes(s), [&](size_t cut) {
        return PreparedWeights::backward(table, s, w.data(), Prepare::always, cut);
      });
    });
  }
}

TEST(PreparedWeights, DoNotDependOnTheBatch) {
  for (Conv2dShape s : convolutions()) {
    SCOPED_TRACE(describe(s));
    const size_t forward = conv2d_forward_prepared_bytes(s), backward = conv2d_backward_input_prepared_bytes(s);
    for (const size_t batch : {1, 3, 1000}) {
      s.batch = batch;
      EXPECT_EQ(conv2d_forward_prepared_bytes(s), forward);
      EXPECT_EQ(conv2d_backward_input_prepared_bytes(s), backward);
    }
    EXPECT_TRUE(forward == 0 || prepares_conv2d_forward(s)) << "of a large batch";
  }
}

// compute(columns, prepared or not, to) gives some columns of a result of `columns` in each row: all of them and parts,
// those of prepared weights cut at kColumnGrain.
using Columns = std::function<void(const KernelTable&, Range, Prepare, float*)>;

void expect_same_columns(size_t rows, size_t columns, const Columns& compute) {
  for_each_table([&](const KernelTable& table) {
    Floats whole(rows * columns);
    compute(table, {0, columns}, Prepare::where_it_pays, whole.data());
    for (const Prepare how : {Prepare::where_it_pays, Prepare::always}) {
      for (const size_t step : {columns, kColumnGrain}) {
        Floats parts(rows * columns);
        for (size_t c = 0; c < columns; c += step) {
          compute(table, {c, std::min(columns, c + step)}, how, parts.data());
        }
        EXPECT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(float)), 0) << "steps of " << step;
      }
    }
  });
}

TEST(PreparedWeights, AndColumnsOfDenseLayersGiveTheBitsOfTheWhole) {
  Prng prng(41);
  for (const DenseShape& s : kDense) {
    SCOPED_TRACE(std::to_string(s.batch) + "x" + std::to_string(s.in) + "->" + std::to_string(s.out));
    const Floats x = draw(s.batch * s.in, prng), w = draw(s.in * s.out, prng), dy = draw(s.batch * s.out, prng);
    const Floats bias = draw(s.out, prng);
    std::vector<uint8_t> workspace(std::max(dense_forward_workspace(s), dense_backward_input_workspace(s)) + 64);
    expect_same_columns(s.batch, s.out, [&](const KernelTable& table, Range columns, Prepare how, float* y) {
      const auto prepared = PreparedWeights::forward(table, s, w.data(), how);
      table.dense_forward(s, columns, x.data(), w.data(), prepared.data(), bias.data(), Activation::relu, y,
                          workspace.data());
    });
    expect_same_columns(s.batch, s.in, [&](const KernelTable& table, Range columns, Prepare how, float* dx) {
      const auto prepared = PreparedWeights::backward(table, s, w.data(), how);
      table.dense_backward_input(s, columns, dy.data(), w.data(), prepared.data(), dx, workspace.data());
    });
  }
}

TEST(PreparedWeights, AndColumnsOfConvolutionsGiveTheBitsOfTheWhole) {
  Prng prng(42);
  size_t forward = 0, backward = 0;
  for (const Conv2dShape& s : convolutions()) {
    SCOPED_TRACE(describe(s));
    const size_t outputs = s.batch * s.out_h() * s.out_w(), inputs = s.batch * s.height * s.width;
    const Floats x = draw(inputs * s.channels, prng), w = draw(s.taps() * s.filters, prng);
    const Floats bias = draw(s.filters, prng), dy = draw(outputs * s.filters, prng);
    std::vector<uint8_t> workspace(std::max(conv2d_forward_workspace(s), conv2d_backward_input_workspace(s)) + 64);
    if (conv2d_forward_has_columns(s)) {
      ++forward;
      expect_same_columns(outputs, s.filters, [&](const KernelTable& table, Range filters, Prepare how, float* y) {
        const auto prepared = PreparedWeights::forward(table, s, w.data(), how);
        table.conv2d_forward_part(s, {0, s.out_h()}, filters, x.data(), w.data(), prepared.data(), bias.data(),
                                  Activation::relu, y, workspace.data());
      });
    }
    if (conv2d_backward_input_has_columns(s)) {
      ++backward;
      expect_same_columns(inputs, s.channels, [&](const KernelTable& table, Range channels, Prepare how, float* dx) {
        const auto prepared = PreparedWeights::backward(table, s, w.data(), how);
        table.conv2d_backward_input_part(s, {0, s.height}, channels, dy.data(), w.data(), prepared.data(), dx,
                                         workspace.data());
      });
    }
  }
  EXPECT_GE(forward, 5u);
  EXPECT_GE(backward, 4u);
}

}  // namespace
}  // namespace coterie::kernels::test
