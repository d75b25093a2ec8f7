// The reference's backward passes are the derivatives of its forward passes: central differences in double. The fast
// kernels are compared with the reference elsewhere, so this closes the chain.
#include "tests/unit/train_kernels/gradient_check.h"

namespace coterie::kernels::test {
namespace {

TEST(Gradient, OfDenseIsTheDerivative) {
  Prng prng(20);
  const DenseShape s{3, 5, 4};
  Doubles x = random(15, prng), w = random(20, prng), bias = random(4, prng), y(12), dx(15), dw(20), dbias(4);
  const Doubles dy = random(12, prng);
  exact().dense_backward_input(s, {0, s.in}, dy.data(), w.data(), nullptr, dx.data(), nullptr);
  exact().dense_backward_weights(s, x.data(), dy.data(), dw.data(), dbias.data(), nullptr);
  const auto scalar = [&] {
    exact().dense_forward(s, {0, s.out}, x.data(), w.data(), nullptr, bias.data(), Activation::none, y.data(), nullptr);
    return dot(dy, y);
  };
  expect_gradient("x", x, dx, scalar);
  expect_gradient("w", w, dw, scalar);
  expect_gradient("bias", bias, dbias, scalar);
}

TEST(Gradient, OfConvolutionIsTheDerivativeWithStridePaddingGroupsAndDilation) {
  const Conv2dShape shapes[] = {
      {2, 5, 6, 2, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1},
      {1, 6, 5, 4, 3, 2, 6, 2, 1, 0, 1, 2, 0, 2},
      {2, 4, 4, 3, 1, 1, 2},
      {1, 5, 5, 4, 3, 3, 4, 1, 1, 1, 1, 1, 1, 4},
      {1, 7, 7, 1, 5, 5, 2, 2, 3, 2, 2, 2, 2, 1},
      {2, 6, 7, 2, 3, 3, 4, 1, 2, 1, 2, 1, 0, 2, 2, 3},
  };
  Prng prng(21);
  for (const Conv2dShape& s : shapes) {
    const size_t outputs = s.batch * s.out_h() * s.out_w() * s.filters;
    Doubles x = random(s.batch * s.height * s.width * s.channels, prng), w = random(s.taps() * s.filters, prng);
    Doubles bias = random(s.filters, prng), y(outputs), dx(x.size()), dw(w.size()), dbias(s.filters);
    const Doubles dy = random(outputs, prng);
    exact().conv2d_backward_input(s, dy.data(), w.data(), nullptr, dx.data(), nullptr);
    exact().conv2d_backward_weights(s, x.data(), dy.data(), dw.data(), dbias.data(), nullptr);
    const auto scalar = [&] {
      exact().conv2d_forward(s, x.data(), w.data(), nullptr, bias.data(), Activation::none, y.data(), nullptr);
      return dot(dy, y);
    };
    expect_gradient("x", x, dx, scalar);
    expect_gradient("w", w, dw, scalar);
    expect_gradient("bias", bias, dbias, scalar);
  }
}

// The pooling members of one kind of window.
template <typename Shape, typename MaxForward, typename MaxBackward, typename AverageForward, typename AverageBackward>
void expect_pooling_gradient(const Shape& s, MaxForward max_forward, MaxBackward max_backward,
                             AverageForward average_forward, AverageBackward average_backward) {
  Prng prng(22);
  const size_t inputs = s.batch * s.height * s.width * s.channels;
  const size_t outputs = s.batch * s.out_h() * s.out_w() * s.channels;
  Doubles x = random(inputs, prng), rectified(inputs), y(outputs), dx(inputs);
  const Doubles dy = random(outputs, prng);

  max_forward(s, x.data(), y.data());
  max_backward(s, x.data(), y.data(), dy.data(), false, dx.data());
  expect_gradient("max", x, dx, [&] {
    max_forward(s, x.data(), y.data());
    return dot(dy, y);
  });

  const auto through_relu = [&] {
    exact().relu_forward(inputs, x.data(), rectified.data());
    max_forward(s, rectified.data(), y.data());
    return dot(dy, y);
  };
  through_relu();
  max_backward(s, rectified.data(), y.data(), dy.data(), true, dx.data());
  expect_gradient("max of relu", x, dx, through_relu);

  average_backward(s, dy.data(), dx.data());
  expect_gradient("average", x, dx, [&] {
    average_forward(s, x.data(), y.data());
    return dot(dy, y);
  });
}

TEST(Gradient, OfPoolingIsTheDerivativeAlsoThroughRelu) {
  const Pool2dShape shapes[] = {
      {2, 4, 6, 3, 2, 2, 2, 2},
      {1, 5, 5, 2, 3, 3, 1, 1, 1, 1, 1, 1},
      {2, 5, 4, 2, 3, 2, 2, 1, 1, 0, 2, 1},
      {1, 3, 3, 2, 3, 3},
      {1, 6, 6, 2, 3, 3, 2, 2, 1, 0, 1, 1, true, 1, 1},
  };
  const AdaptivePool2dShape adaptive[] = {{2, 5, 7, 2, 3, 4}, {1, 4, 6, 1, 2, 3}, {1, 2, 3, 2, 3, 5}};
  for (const Pool2dShape& s : shapes) {
    expect_pooling_gradient(s, exact().max_pool2d_forward, exact().max_pool2d_backward, exact().average_pool2d_forward,
                            exact().average_pool2d_backward);
  }
  for (const AdaptivePool2dShape& s : adaptive) {
    expect_pooling_gradient(s, exact().adaptive_max_pool2d_forward, exact().adaptive_max_pool2d_backward,
                            exact().adaptive_average_pool2d_forward, exact().adaptive_average_pool2d_backward);
  }
}

TEST(Gradient, OfReluAndAddIsTheDerivative) {
  Prng prng(23);
  Doubles x = random(40, prng), b = random(40, prng), y(40), dx(40);
  const Doubles dy = random(40, prng);
  const auto relu = [&] {
    exact().relu_forward(40, x.data(), y.data());
    return dot(dy, y);
  };
  relu();
  exact().relu_backward(40, y.data(), dy.data(), dx.data());
  expect_gradient("relu", x, dx, relu);
  // The gradient of a sum is passed through: what the executor does for add.
  expect_gradient("add", x, dy, [&] {
    exact().add(40, x.data(), b.data(), y.data());
    return dot(dy, y);
  });
}

TEST(Gradient, OfTheLossesIsTheDerivativeOfTheirBatchMean) {
  Prng prng(24);
  for (const size_t classes : {2, 5, 10}) {
    const size_t batch = 4;
    Doubles z = random(batch * classes, prng), dz(z.size());
    const int32_t labels[batch] = {0, 1, 1, static_cast<int32_t>(classes) - 1};
    LossSums unused;
    exact().softmax_cross_entropy(batch, classes, z.data(), labels, dz.data(), &unused);
    expect_gradient("cross-entropy", z, dz, [&] {
      LossSums sums;
      exact().softmax_cross_entropy(batch, classes, z.data(), labels, nullptr, &sums);
      return sums.loss / batch;
    });
    exact().mean_squared_error(batch, classes, z.data(), labels, dz.data(), &unused);
    expect_gradient("squared error", z, dz, [&] {
      LossSums sums;
      exact().mean_squared_error(batch, classes, z.data(), labels, nullptr, &sums);
      return sums.loss / batch;
    });
  }
  Doubles y = random(4, prng), dy(4);
  const int32_t targets[4] = {3, -2, 0, 7};
  LossSums unused;
  exact().mean_squared_error(4, 1, y.data(), targets, dy.data(), &unused);
  expect_gradient("regression", y, dy, [&] {
    LossSums sums;
    exact().mean_squared_error(4, 1, y.data(), targets, nullptr, &sums);
    return sums.loss / 4;
  });
}

}  // namespace
}  // namespace coterie::kernels::test
