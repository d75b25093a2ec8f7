#include <gtest/gtest.h>

#include "tests/unit/train_kernels/convolution_bound.h"
#include "tests/unit/train_kernels/kernel_tester.h"
#include "tests/unit/train_kernels/prepared_weights.h"
#include "train_kernels/workspace.h"

namespace coterie::kernels::test {
namespace {

Conv2dShape conv(size_t batch, size_t height, size_t width, size_t channels, size_t kernel, size_t filters,
                 size_t stride = 1, size_t pad = 0, size_t groups = 1) {
  return {batch, height, width, channels, kernel, kernel, filters, stride, stride, pad, pad, pad, pad, groups};
}

std::vector<Conv2dShape> shapes() {
  std::vector<Conv2dShape> all = {
      conv(1, 1, 1, 1, 1, 1),
      conv(2, 5, 7, 3, 1, 5),
      conv(3, 28, 28, 1, 5, 6, 1, 2),
      conv(2, 14, 14, 6, 5, 16),
      conv(2, 8, 8, 1, 3, 16, 1, 1),
      conv(2, 8, 8, 16, 3, 32, 1, 1),
      conv(2, 9, 6, 4, 3, 50, 2, 1),
      conv(1, 11, 11, 3, 5, 49, 3, 2),
      conv(2, 6, 6, 8, 3, 12, 1, 1, 4),
      conv(2, 7, 5, 6, 3, 6, 1, 1, 6),
      conv(1, 4, 4, 33, 1, 17, 2),
      conv(1, 5, 5, 8, 5, 20),
      conv(5, 3, 3, 70, 3, 100, 1, 1),
      conv(4, 9, 9, 2, 2, 3, 2),
      conv(1, 10, 10, 64, 3, 64, 1, 1),
      conv(3, 6, 6, 12, 1, 60),
      conv(1, 8, 8, 100, 3, 104, 2, 1, 2),
  };
  // Few filters: neighbouring pixels are one vector, or several, the last in part.
  for (const Conv2dShape& s : {conv(2, 9, 12, 5, 3, 3, 1, 1), conv(2, 17, 17, 3, 5, 5, 2, 2)}) all.push_back(s);
  // Depthwise: rows longer than a tile, strides, kernels of more taps than accumulators, wide borders.
  for (const Conv2dShape& s :
       {conv(2, 5, 21, 33, 3, 33, 1, 1, 33), conv(1, 12, 23, 16, 3, 16, 2, 1, 16), conv(2, 7, 7, 20, 5, 20, 1, 2, 20),
        conv(1, 9, 10, 5, 7, 5, 3, 3, 5), conv(1, 6, 7, 17, 1, 17, 2, 0, 17), conv(1, 3, 3, 9, 3, 9, 1, 3, 9)}) {
    all.push_back(s);
  }
  // Several images at once, the last time fewer; dX as a convolution, in groups and with uneven borders.
  for (const Conv2dShape& s :
       {conv(9, 7, 7, 16, 3, 24, 1, 1), conv(4, 12, 12, 32, 3, 32, 1, 1, 2), conv(7, 14, 14, 3, 3, 20, 2, 1)}) {
    all.push_back(s);
  }
  // Winograd: tiles of 2 and 4 outputs, whole and overhanging, more tiles than are taken at a time, vectors
  // of channels whole and in part, uneven borders.
  for (const Conv2dShape& s : {conv(2, 8, 8, 16, 3, 24, 1, 1), conv(2, 6, 6, 100, 3, 90, 1, 1),
                               conv(1, 13, 15, 33, 3, 17, 1, 0), conv(3, 34, 30, 16, 3, 16, 1, 1)}) {
    all.push_back(s);
  }
  all.push_back({2, 10, 11, 20, 3, 3, 19, 1, 1, 2, 0, 1, 2});
  all.push_back({2, 9, 9, 17, 3, 4, 18, 1, 1, 2, 0, 1, 3});
  // Fourier transforms: one tile and several, of 2^a and 3 * 2^a, vectors whole and in part, uneven borders and
  // kernels.
  for (const Conv2dShape& s :
       {conv(1, 21, 22, 16, 11, 16, 1, 5), conv(2, 26, 24, 33, 19, 33, 1, 9, 33), conv(1, 70, 24, 4, 19, 4, 1, 9, 4)}) {
    all.push_back(s);
  }
  all.push_back({1, 24, 25, 15, 11, 10, 14, 1, 1, 3, 2, 7, 8});
  all.push_back({1, 25, 24, 15, 12, 13, 16, 1, 1, 5, 7, 6, 5});
  all.push_back({1, 27, 40, 17, 29, 17, 17, 1, 1, 28, 10, 9, 8, 17});
  Conv2dShape uneven = conv(2, 6, 9, 5, 1, 7);
  uneven.kernel_h = 2;
  uneven.kernel_w = 4;
  uneven.stride_h = 1;
  uneven.stride_w = 2;
  uneven.pad_top = 1;
  uneven.pad_left = 3;
  uneven.pad_right = 1;
  all.push_back(uneven);
  for (Conv2dShape dilated :
       {conv(2, 9, 8, 1, 3, 4, 1, 2), conv(1, 11, 10, 16, 3, 20, 2, 1), conv(2, 8, 9, 6, 3, 6, 1, 1, 6),
        conv(1, 9, 20, 7, 3, 7, 2, 2, 7), conv(1, 7, 7, 5, 1, 9)}) {
    dilated.dilation_h = 2;
    dilated.dilation_w = 3;
    all.push_back(dilated);
  }
  return all;
}

std::string describe(const Conv2dShape& s) {
  return std::to_string(s.batch) + "x" + std::to_string(s.height) + "x" + std::to_string(s.width) + "x" +
         std::to_string(s.channels) + " k" + std::to_string(s.kernel_h) + "x" + std::to_string(s.kernel_w) + " o" +
         std::to_string(s.filters) + " s" + std::to_string(s.stride_h) + " g" + std::to_string(s.groups) + " d" +
         std::to_string(s.dilation_h);
}

size_t outputs(const Conv2dShape& s) { return s.batch * s.out_h() * s.out_w() * s.filters; }

struct Case {
  Case(const Conv2dShape& s, Prng& prng)
      : x(s.batch * s.height * s.width * s.channels, prng),
        w(s.taps() * s.filters, prng),
        bias(s.filters, prng),
        dy(outputs(s), prng) {}
  Operand x, w, bias, dy;
};

GuardedBuffer<uint8_t> scratch(size_t bytes) { return GuardedBuffer<uint8_t>((bytes + 63) / 64 * 64); }

TEST(Conv2d, TheseShapesMeetEveryAlgorithm) {
  std::vector<size_t> forward(6), gradient(2);
  for (const Conv2dShape& s : shapes()) {
    ++forward[static_cast<size_t>(conv2d_algorithm(s))];
    if (gradient_is_fft(s)) ++gradient[s.is_depthwise() ? 1 : 0];
  }
  for (const size_t count : forward) EXPECT_GE(count, 1);
  EXPECT_GE(forward[static_cast<size_t>(Conv2dAlgorithm::fft)], 6);
  for (const size_t count : gradient) EXPECT_GE(count, 1);
}

TEST(Conv2d, ForwardEqualsTheReferenceWithAndWithoutBiasAndActivation) {
  Prng prng(5);
  const auto& exact = reference_kernels<double>();
  for (const Conv2dShape& s : shapes()) {
    SCOPED_TRACE(describe(s));
    Case c(s, prng);
    GuardedBuffer<uint8_t> workspace = scratch(conv2d_forward_workspace(s));
    for (const Activation activation : {Activation::none, Activation::relu, Activation::relu6}) {
      Doubles y(outputs(s)), magnitude(y.size());
      const bool extras = activation != Activation::none;
      exact.conv2d_forward(s, c.x.exact.data(), c.w.exact.data(), nullptr, extras ? c.bias.exact.data() : nullptr,
                           activation, y.data(), nullptr);
      exact.conv2d_forward(s, c.x.magnitude.data(), c.w.magnitude.data(), nullptr,
                           extras ? c.bias.magnitude.data() : nullptr, Activation::none, magnitude.data(), nullptr);
      ConvolutionBound bound(s, c.x.magnitude, c.w.magnitude, magnitude);
      for (size_t i = 0; extras && i < y.size(); ++i) bound.magnitude[i] += c.bias.magnitude[i % s.filters];
      for_each_table([&](const KernelTable& table) {
        for (const Prepare how : {Prepare::where_it_pays, Prepare::always}) {
          const PreparedWeights w = PreparedWeights::forward(table, s, c.w.values.data(), how);
          GuardedBuffer<float> got(y.size());
          table.conv2d_forward(s, c.x.values.data(), c.w.values.data(), w.data(),
                               extras ? c.bias.values.data() : nullptr, activation, got.data(), workspace.data());
          EXPECT_TRUE(is_close(got, y, bound.magnitude, bound.relative));
        }
      });
    }
  }
}

TEST(Conv2d, BackwardInputEqualsTheReference) {
  Prng prng(6);
  const auto& exact = reference_kernels<double>();
  for (const Conv2dShape& s : shapes()) {
    SCOPED_TRACE(describe(s));
    Case c(s, prng);
    GuardedBuffer<uint8_t> workspace = scratch(conv2d_backward_input_workspace(s));
    Doubles dx(c.x.exact.size()), magnitude(dx.size());
    exact.conv2d_backward_input(s, c.dy.exact.data(), c.w.exact.data(), nullptr, dx.data(), nullptr);
    exact.conv2d_backward_input(s, c.dy.magnitude.data(), c.w.magnitude.data(), nullptr, magnitude.data(), nullptr);
    const ConvolutionBound bound = gradient_bound(s, c.dy.magnitude, c.w.magnitude, magnitude);
    for_each_table([&](const KernelTable& table) {
      for (const Prepare how : {Prepare::where_it_pays, Prepare::always}) {
        const PreparedWeights w = PreparedWeights::backward(table, s, c.w.values.data(), how);
        GuardedBuffer<float> got(dx.size());
        table.conv2d_backward_input(s, c.dy.values.data(), c.w.values.data(), w.data(), got.data(), workspace.data());
        EXPECT_TRUE(is_close(got, dx, bound.magnitude, bound.relative));
      }
    });
  }
}

TEST(Conv2d, BackwardWeightsEqualsTheReferenceWithAndWithoutBias) {
  Prng prng(7);
  const auto& exact = reference_kernels<double>();
  for (const Conv2dShape& s : shapes()) {
    SCOPED_TRACE(describe(s));
    Case c(s, prng);
    GuardedBuffer<uint8_t> workspace = scratch(conv2d_backward_weights_workspace(s));
    Doubles dw(s.taps() * s.filters), magnitude(dw.size()), dbias(s.filters), bias_magnitude(s.filters);
    exact.conv2d_backward_weights(s, c.x.exact.data(), c.dy.exact.data(), dw.data(), dbias.data(), nullptr);
    exact.conv2d_backward_weights(s, c.x.magnitude.data(), c.dy.magnitude.data(), magnitude.data(),
                                  bias_magnitude.data(), nullptr);
    const double bound = gamma(static_cast<double>(s.batch * s.out_h() * s.out_w()) + 1);
    for_each_table([&](const KernelTable& table) {
      for (const bool with_bias : {false, true}) {
        GuardedBuffer<float> got(dw.size()), got_bias(s.filters);
        table.conv2d_backward_weights(s, c.x.values.data(), c.dy.values.data(), got.data(),
                                      with_bias ? got_bias.data() : nullptr, workspace.data());
        EXPECT_TRUE(is_close(got, dw, magnitude, bound));
        if (with_bias) {
          EXPECT_TRUE(is_close(got_bias, dbias, bias_magnitude, bound));
        }
      }
    });
  }
}

TEST(Conv2d, BackwardWeightsInPartsGivesTheBitsOfTheWhole) {
  Prng prng(8);
  for (const Conv2dShape& s : shapes()) {
    SCOPED_TRACE(describe(s));
    Case c(s, prng);
    GuardedBuffer<uint8_t> workspace = scratch(conv2d_backward_weights_workspace(s));
    const size_t cuts[] = {0, s.taps() / 3, s.taps() / 3, s.taps() * 3 / 4, s.taps()};  // one part is empty
    for_each_table([&](const KernelTable& table) {
      std::vector<float> whole(s.taps() * s.filters), parts(whole.size()), bias(s.filters), part_bias(s.filters);
      table.conv2d_backward_weights(s, c.x.values.data(), c.dy.values.data(), whole.data(), bias.data(),
                                    workspace.data());
      for (size_t i = 0; i < 4; ++i) {
        table.conv2d_backward_weights_part(s, {cuts[i], cuts[i + 1]}, c.x.values.data(), c.dy.values.data(),
                                           parts.data(), i == 1 ? part_bias.data() : nullptr, workspace.data());
      }
      EXPECT_EQ(whole, parts);
      EXPECT_EQ(bias, part_bias);
    });
  }
}

}  // namespace
}  // namespace coterie::kernels::test
