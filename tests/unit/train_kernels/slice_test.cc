// What lets a runtime cut a call into pieces: an element of a result depends on its own row or image alone,
// to the bit, and not on how many others are in the call (kernel_table.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/unit/train_kernels/kernel_tester.h"
#include "tests/unit/train_kernels/prepared_weights.h"
#include "train_kernels/workspace.h"

namespace coterie::kernels::test {
namespace {

// Computes rows [begin, end) of a result into `to`.
using Rows = std::function<void(const KernelTable&, Range rows, float* to)>;

// The call for `rows` rows of `width` floats, and calls for the rows between the cuts.
void expect_slices_of(size_t rows, size_t width, const Rows& compute, const std::vector<size_t>& cuts = {1, 3}) {
  for_each_table([&](const KernelTable& table) {
    Floats whole(rows * width), parts(rows * width);
    compute(table, {0, rows}, whole.data());
    size_t begin = 0;
    for (size_t i = 0; i <= cuts.size(); ++i) {
      const size_t end = i < cuts.size() ? cuts[i] : rows;
      compute(table, {begin, end}, parts.data() + begin * width);
      begin = end;
    }
    for (size_t i = 0; i < whole.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(whole[i]), std::bit_cast<uint32_t>(parts[i]))
          << "row " << i / width << " of " << rows << ", column " << i % width << ": " << whole[i] << ", " << parts[i];
    }
  });
}

// Scratch memory for any call here.
class Scratchpad {
 public:
  void* of(size_t bytes) {
    if (bytes > memory_.size() * sizeof(Line)) memory_.resize(bytes / sizeof(Line) + 1);
    return memory_.data();
  }

 private:
  struct alignas(64) Line {
    uint8_t bytes[64];
  };
  std::vector<Line> memory_;
};

// Enough rows for every rule that looks at their number; `in` and `out` beyond one piece of a sum.
const std::vector<size_t> kDenseCuts = {1, 3, 6, 14, 60, 140, 141};
constexpr size_t kDenseRows = 560;

TEST(Slices, OfDenseLayers) {
  Prng prng(1);
  Scratchpad pad;
  for (const DenseShape& shape : {DenseShape{0, 300, 10}, DenseShape{0, 530, 100}, DenseShape{0, 70, 601},
                                  DenseShape{0, 33, 47}, DenseShape{0, 12, 160}}) {
    const size_t in = shape.in, out = shape.out;
    SCOPED_TRACE(std::to_string(in) + "->" + std::to_string(out));
    const Floats x = draw(kDenseRows * in, prng), w = draw(in * out, prng), bias = draw(out, prng);
    const Floats dy = draw(kDenseRows * out, prng);
    expect_slices_of(
        kDenseRows, out,
        [&](const KernelTable& table, Range rows, float* y) {
          const DenseShape s{rows.size(), in, out};
          const auto prepared = PreparedWeights::forward(table, s, w.data());
          table.dense_forward(s, {0, out}, &x[rows.begin * in], w.data(), prepared.data(), bias.data(),
                              Activation::relu6, y, pad.of(dense_forward_workspace(s)));
        },
        kDenseCuts);
    expect_slices_of(
        kDenseRows, in,
        [&](const KernelTable& table, Range rows, float* dx) {
          const DenseShape s{rows.size(), in, out};
          const auto prepared = PreparedWeights::backward(table, s, w.data());
          table.dense_backward_input(s, {0, in}, &dy[rows.begin * out], w.data(), prepared.data(), dx,
                                     pad.of(dense_backward_input_workspace(s)));
        },
        kDenseCuts);
  }
}

TEST(Slices, OfMatrixProducts) {
  Prng prng(2);
  Scratchpad pad;
  constexpr size_t kM = 21, kK = 300, kN = 70, kBatch = 5;
  const Floats a = draw(kBatch * kM * kK, prng), b = draw(kBatch * kK * kN, prng);
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const size_t b_stride : {size_t{0}, kK * kN}) {
        expect_slices_of(kBatch, kM * kN, [&](const KernelTable& table, Range batch, float* c) {
          const MatmulShape s{batch.size(), kM,          kK,          kN,    kM * kK, b_stride,
                              kM * kN,      transpose_a, transpose_b, false, 0.3f};
          table.matmul(s, &a[batch.begin * kM * kK], &b[batch.begin * b_stride], c, pad.of(matmul_workspace(s)));
        });
      }
    }
  }
}

Conv2dShape conv(size_t size, size_t channels, size_t kernel, size_t filters, size_t stride = 1, size_t pad = 0,
                 size_t groups = 1) {
  return {5, size, size, channels, kernel, kernel, filters, stride, stride, pad, pad, pad, pad, groups};
}

std::vector<Conv2dShape> convolutions() {
  std::vector<Conv2dShape> all = {
      conv(9, 3, 3, 6, 1, 1),      conv(12, 16, 3, 16, 1, 1),    conv(7, 70, 3, 65, 1, 1),
      conv(8, 64, 3, 96, 2, 1),    conv(20, 3, 7, 33, 2, 3),     conv(6, 24, 1, 100),
      conv(7, 300, 1, 40),         conv(8, 20, 1, 50, 2),        conv(7, 32, 3, 48, 1, 1, 2),
      conv(8, 12, 3, 24, 2, 1, 4), conv(9, 33, 3, 33, 1, 1, 33), conv(10, 16, 3, 16, 2, 1, 16)};
  // Fourier transforms: tiles that a cut goes through.
  all.push_back(conv(21, 16, 11, 16, 1, 5));
  all.push_back(conv(50, 4, 19, 4, 1, 9, 4));
  all.push_back(conv(9, 17, 3, 20, 1, 2));
  all.back().dilation_h = all.back().dilation_w = 2;
  return all;
}

TEST(Slices, OfConvolutions) {
  Prng prng(3);
  Scratchpad pad;
  for (const Conv2dShape& s : convolutions()) {
    SCOPED_TRACE(std::to_string(s.height) + "x" + std::to_string(s.channels) + " k" + std::to_string(s.kernel_h) +
                 " o" + std::to_string(s.filters) + " s" + std::to_string(s.stride_h) + " g" +
                 std::to_string(s.groups));
    const size_t image = s.height * s.width * s.channels, result = s.out_h() * s.out_w() * s.filters;
    const Floats x = draw(s.batch * image, prng), w = draw(s.taps() * s.filters, prng);
    const Floats bias = draw(std::max(s.filters, s.channels), prng), dy = draw(s.batch * result, prng);
    expect_slices_of(s.batch, result, [&](const KernelTable& table, Range images, float* y) {
      Conv2dShape some = s;
      some.batch = images.size();
      const auto prepared = PreparedWeights::forward(table, some, w.data());
      table.conv2d_forward(some, &x[images.begin * image], w.data(), prepared.data(), bias.data(), Activation::relu6, y,
                           pad.of(conv2d_forward_workspace(some)));
    });
    expect_slices_of(s.batch, image, [&](const KernelTable& table, Range images, float* dx) {
      Conv2dShape some = s;
      some.batch = images.size();
      const auto prepared = PreparedWeights::backward(table, some, w.data());
      table.conv2d_backward_input(some, &dy[images.begin * result], w.data(), prepared.data(), dx,
                                  pad.of(conv2d_backward_input_workspace(some)));
    });
    expect_slices_of(s.batch, image, [&](const KernelTable& table, Range images, float* y) {
      Conv2dShape some = s;
      some.batch = images.size();
      table.conv_transpose2d_forward(some, &dy[images.begin * result], w.data(), bias.data(), Activation::relu6, y,
                                     pad.of(conv_transpose2d_forward_workspace(some)));
    });
    expect_slices_of(s.batch, result, [&](const KernelTable& table, Range images, float* dx) {
      Conv2dShape some = s;
      some.batch = images.size();
      table.conv_transpose2d_backward_input(some, &x[images.begin * image], w.data(), dx,
                                            pad.of(conv_transpose2d_backward_input_workspace(some)));
    });
  }
}

// Here the kernels take pointers to the whole image.
TEST(Slices, OfTheRowsOfAnImage) {
  Prng prng(4);
  Scratchpad pad;
  for (Conv2dShape s : convolutions()) {
    s.batch = 1;
    SCOPED_TRACE(std::to_string(s.height) + "x" + std::to_string(s.channels) + " k" + std::to_string(s.kernel_h) +
                 " o" + std::to_string(s.filters));
    const size_t row = s.width * s.channels, result_row = s.out_w() * s.filters;
    const Floats x = draw(s.height * row, prng), w = draw(s.taps() * s.filters, prng);
    const Floats bias = draw(s.filters, prng), dy = draw(s.out_h() * result_row, prng);
    const auto cuts = [](size_t rows) {
      std::vector<size_t> at;
      for (size_t i = kConv2dRowGrain; i < rows; i += kConv2dRowGrain) at.push_back(i);
      return at;
    };
    expect_slices_of(
        s.out_h(), result_row,
        [&](const KernelTable& table, Range rows, float* y) {
          const auto prepared = PreparedWeights::forward(table, s, w.data());
          table.conv2d_forward_part(s, rows, {0, s.filters}, x.data(), w.data(), prepared.data(), bias.data(),
                                    Activation::relu6, y - rows.begin * result_row,
                                    pad.of(conv2d_forward_workspace(s)));
        },
        cuts(s.out_h()));
    if (!gradient_has_rows(s)) continue;
    expect_slices_of(
        s.height, row,
        [&](const KernelTable& table, Range rows, float* dx) {
          const auto prepared = PreparedWeights::backward(table, s, w.data());
          table.conv2d_backward_input_part(s, rows, {0, s.channels}, dy.data(), w.data(), prepared.data(),
                                           dx - rows.begin * row, pad.of(conv2d_backward_input_workspace(s)));
        },
        cuts(s.height));
  }
}

TEST(Slices, OfPools) {
  Prng prng(4);
  for (const size_t channels : {size_t{3}, size_t{37}}) {
    const Pool2dShape s{5, 9, 8, channels, 3, 2, 2, 1, 1, 0, 1, 1};
    const AdaptivePool2dShape a{5, 9, 8, channels, 4, 3};
    const size_t image = s.height * s.width * channels;
    const Floats x = draw(5 * image, prng), dy = draw(5 * image * 2, prng);
    const size_t pooled = s.out_h() * s.out_w() * channels, adapted = a.out_h() * a.out_w() * channels;
    const auto some = [](auto shape, Range images) {
      shape.batch = images.size();
      return shape;
    };
    expect_slices_of(5, pooled, [&](const KernelTable& table, Range images, float* y) {
      table.max_pool2d_forward(some(s, images), &x[images.begin * image], y);
    });
    expect_slices_of(5, pooled, [&](const KernelTable& table, Range images, float* y) {
      table.average_pool2d_forward(some(s, images), &x[images.begin * image], y);
    });
    expect_slices_of(5, image, [&](const KernelTable& table, Range images, float* dx) {
      table.average_pool2d_backward(some(s, images), &dy[images.begin * pooled], dx);
    });
    expect_slices_of(5, image, [&](const KernelTable& table, Range images, float* dx) {
      Floats y(5 * pooled);
      table.max_pool2d_forward(some(s, images), &x[images.begin * image], y.data());
      table.max_pool2d_backward(some(s, images), &x[images.begin * image], y.data(), &dy[images.begin * pooled], true,
                                dx);
    });
    expect_slices_of(5, adapted, [&](const KernelTable& table, Range images, float* y) {
      table.adaptive_average_pool2d_forward(some(a, images), &x[images.begin * image], y);
    });
    expect_slices_of(5, image, [&](const KernelTable& table, Range images, float* dx) {
      table.adaptive_average_pool2d_backward(some(a, images), &dy[images.begin * adapted], dx);
    });
  }
}

TEST(Slices, OfNormalisations) {
  Prng prng(5);
  for (const size_t width : {size_t{1}, size_t{7}, size_t{16}, size_t{333}}) {
    SCOPED_TRACE(width);
    const Floats x = draw(5 * width, prng), dy = draw(5 * width, prng), scale = draw(width, prng),
                 bias = draw(width, prng);
    for (const bool rms : {false, true}) {
      Floats mean(5), inverse(5);
      expect_slices_of(5, width, [&](const KernelTable& table, Range rows, float* y) {
        table.layer_norm_forward(rows.size(), width, &x[rows.begin * width], scale.data(), bias.data(), 1e-5f, y,
                                 rms ? nullptr : &mean[rows.begin], &inverse[rows.begin]);
      });
      expect_slices_of(5, width, [&](const KernelTable& table, Range rows, float* dx) {
        table.layer_norm_backward_input(rows.size(), width, &x[rows.begin * width], scale.data(),
                                        rms ? nullptr : &mean[rows.begin], &inverse[rows.begin],
                                        &dy[rows.begin * width], dx);
      });
    }
  }
  for (const size_t groups : {size_t{1}, size_t{3}, size_t{18}}) {
    SCOPED_TRACE(groups);
    constexpr size_t kPositions = 11, kChannels = 18, kImage = kPositions * kChannels;
    const Floats x = draw(5 * kImage, prng), dy = draw(5 * kImage, prng);
    const Floats scale = draw(kChannels, prng), bias = draw(kChannels, prng);
    Floats mean(5 * groups), inverse(5 * groups);
    expect_slices_of(5, kImage, [&](const KernelTable& table, Range images, float* y) {
      table.group_norm_forward({images.size(), kPositions, kChannels, groups}, &x[images.begin * kImage], scale.data(),
                               bias.data(), 1e-5f, y, &mean[images.begin * groups], &inverse[images.begin * groups]);
    });
    expect_slices_of(5, kImage, [&](const KernelTable& table, Range images, float* dx) {
      table.group_norm_backward_input({images.size(), kPositions, kChannels, groups}, &x[images.begin * kImage],
                                      scale.data(), &mean[images.begin * groups], &inverse[images.begin * groups],
                                      &dy[images.begin * kImage], dx);
    });
  }
}

TEST(Slices, OfSoftmax) {
  Prng prng(6);
  for (const SoftmaxShape shape : {SoftmaxShape{5, 10, 1}, SoftmaxShape{5, 700, 1}, SoftmaxShape{5, 6, 21}}) {
    const size_t width = shape.axis * shape.inner;
    const Floats x = draw(5 * width, prng), dy = draw(5 * width, prng);
    for (const bool logarithm : {false, true}) {
      expect_slices_of(5, width, [&](const KernelTable& table, Range rows, float* y) {
        const SoftmaxShape s{rows.size(), shape.axis, shape.inner};
        (logarithm ? table.log_softmax_forward : table.softmax_forward)(s, &x[rows.begin * width], y);
      });
      expect_slices_of(5, width, [&](const KernelTable& table, Range rows, float* dx) {
        const SoftmaxShape s{rows.size(), shape.axis, shape.inner};
        (logarithm ? table.log_softmax_backward : table.softmax_backward)(s, &x[rows.begin * width],
                                                                          &dy[rows.begin * width], dx);
      });
    }
  }
}

TEST(Slices, OfAttention) {
  Prng prng(7);
  Scratchpad pad;
  for (const bool causal : {false, true}) {
    constexpr size_t kHeads = 2, kTime = 70, kWidth = 20, kRow = kHeads * kWidth, kExample = kTime * kRow;
    const auto of = [&](size_t batch) {
      return AttentionShape{batch, kHeads, kTime, kTime, kWidth, kRow, kRow, kRow, kRow, 0.2f, causal};
    };
    const Floats q = draw(5 * kExample, prng), k = draw(5 * kExample, prng), v = draw(5 * kExample, prng);
    const Floats dy = draw(5 * kExample, prng);
    expect_slices_of(5, kExample, [&](const KernelTable& table, Range batch, float* y) {
      const AttentionShape s = of(batch.size());
      const size_t at = batch.begin * kExample;
      Floats log_sums(s.log_sums_floats());
      table.attention_forward(s, {0, s.batch * kHeads}, {&q[at], &k[at], &v[at], nullptr, nullptr, y, log_sums.data()},
                              pad.of(attention_forward_workspace(s)));
    });
    // dq, dk and dv of an example side by side.
    expect_slices_of(5, 3 * kExample, [&](const KernelTable& table, Range batch, float* to) {
      const AttentionShape s = of(batch.size());
      const size_t at = batch.begin * kExample, count = batch.size() * kExample;
      Floats log_sums(s.log_sums_floats()), y(count), dq(count), dk(count), dv(count);
      table.attention_forward(s, {0, s.batch * kHeads},
                              {&q[at], &k[at], &v[at], nullptr, nullptr, y.data(), log_sums.data()},
                              pad.of(attention_forward_workspace(s)));
      table.attention_backward(s, {0, s.batch * kHeads},
                               {&q[at], &k[at], &v[at], nullptr, nullptr, y.data(), &dy[at], log_sums.data(), dq.data(),
                                dk.data(), dv.data()},
                               pad.of(attention_backward_workspace(s)));
      for (size_t b = 0; b < batch.size(); ++b) {
        for (const Floats* part : {&dq, &dk, &dv}) {
          to = std::copy_n(part->begin() + static_cast<ptrdiff_t>(b * kExample), kExample, to);
        }
      }
    });
  }
}

TEST(Slices, OfElementwiseFunctions) {
  Prng prng(8);
  const Floats x = draw(100, prng), dy = draw(100, prng);
  for (const Unary kind : {Unary::gelu_erf, Unary::gelu_tanh, Unary::sigmoid, Unary::swish, Unary::tanh,
                           Unary::softplus, Unary::exp, Unary::elu}) {
    const UnaryOp op{kind, 1, 0};
    expect_slices_of(
        100, 1, [&](const KernelTable& table, Range r, float* y) { table.unary_forward(op, r.size(), &x[r.begin], y); },
        {3, 20, 97});
    expect_slices_of(100, 1,
                     [&](const KernelTable& table, Range r, float* dx) {
                       table.unary_backward(op, r.size(), &x[r.begin], &dy[r.begin], dx);
                     },
                     {3, 20, 97});
  }
}

}  // namespace
}  // namespace coterie::kernels::test
