// Models whose weights are set by hand, so that it is known what their outputs depend on.
#pragma once

#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {

inline constexpr float kRise = 3, kFall = -2, kOffset = 5;

// Takes `shape`, and has two outputs: 0 is kRise x[a] + kFall x[b] + kOffset, 1 is always 0.
inline Model planted_sum(const Shape& shape, size_t a, size_t b) {
  ModelBuilder build("planted", shape, 1);
  const auto size = static_cast<int64_t>(elements(shape));
  std::vector<float> weights(static_cast<size_t>(size) * 2);
  weights[2 * a] = kRise;
  weights[2 * b] = kFall;
  const TensorId x = shape.size() == 1 ? build.input() : build.flatten(build.input());
  return load_or_die(build.finish(
      build.op(OpKind::dense, {x, build.parameter("w", {size, 2}, weights), build.parameter("b", {2}, {kOffset, 0})})));
}

// [8, 8, 1]: output 0 rises with bright pixels, wherever they are; output 1 with dark ones.
inline Model planted_brightness() {
  ModelBuilder build("bright", {8, 8, 1}, 1);
  const TensorId weight = build.parameter("conv.w", {1, 1, 1, 2}, {1, -1});
  const TensorId maps = build.relu(build.op(
      OpKind::conv2d, {build.input(), weight, build.parameter("conv.b", {2}, {0, 0})}, Conv2dAttributes{}, "conv"));
  return load_or_die(build.finish(build.global_average_pool2d(maps)));
}

// What there is of layers: convolutions, batch norm with statistics of its own, dropout, pooling, softmax.
inline Model mixed_net() {
  ModelBuilder build("mixed", {8, 8, 2}, 3);
  TensorId x = build.conv2d(build.input(), {.filters = 6, .kernel = 3, .pad = 1});
  x = build.op(OpKind::batch_norm,
               {x, build.parameter("scale", {6}, {1, 1.5f, 0.5f, 1, 2, 1}),
                build.parameter("shift", {6}, {0.1f, 0, -0.2f, 0, 0.3f, 0}),
                build.state("mean", {6}, {0.2f, -0.1f, 0, 0.3f, 0, 0.1f}),
                build.state("variance", {6}, {1, 2, 0.5f, 1, 1.5f, 1})},
               NormAttributes{}, "norm");
  x = build.average_pool2d(build.op(OpKind::sigmoid, {x}), {.kernel = 2, .stride = 2});
  x = build.op(OpKind::dropout, {build.conv2d(x, {.filters = 5, .kernel = 3})}, DropoutAttributes{.rate = 0.5f});
  x = build.op(OpKind::tanh, {build.dense(build.flatten(x), 7)});
  return load_or_die(build.finish(build.op(OpKind::softmax, {build.dense(x, 3)}, AxisAttributes{.axis = 1})));
}

}  // namespace coterie::test
