// conv_transpose2d, dilated conv2d, pools.
#include <gtest/gtest.h>

#include "tests/unit/device_sdk/runtime/gradient_of.h"

namespace coterie::test {
namespace {

TensorId conv_transpose(ModelBuilder& build, TensorId x, const Shape& w, const Conv2dAttributes& attributes) {
  const int64_t filters = w[2] * std::max(1u, attributes.groups);
  const TensorId weight = build.parameter("weight", w, random_values(elements(w), 3));
  const TensorId bias = build.parameter("bias", {filters}, random_values(static_cast<size_t>(filters), 4));
  return build.op(OpKind::conv_transpose2d, {x, weight, bias}, attributes);
}

TEST(ConvTranspose2dRule, PutsTheKernelAtEachPixel) {
  ModelBuilder build("transpose", {2, 1, 1}, 1);
  const TensorId w = build.parameter("w", {2, 1, 1, 1}, {1, 10}), b = build.parameter("b", {1}, {0.5f});
  const TensorId y =
      build.op(OpKind::conv_transpose2d, {build.input(), w, b}, Conv2dAttributes{.stride_h = 3, .output_pad_h = 1});
  const Model model = computing(build, y);
  EXPECT_EQ(model.output_shape(), (Shape{6, 1, 1}));
  Batch batch(model, 1);
  batch.floats() = {2, 3};
  EXPECT_EQ(outputs_of(model, batch), (std::vector<float>{2.5f, 20.5f, 0.5f, 3.5f, 30.5f, 0.5f}));
}

TEST(ConvTranspose2dRule, DifferentiatesWithStridesGroupsAndPadding) {
  const Conv2dAttributes cases[] = {
      {},
      {.stride_h = 2, .stride_w = 2, .output_pad_h = 1},
      {.stride_h = 2, .pad_top = 1, .pad_right = 1, .groups = 2},
      {.dilation_h = 2},
  };
  for (const Conv2dAttributes& attributes : cases) {
    ModelBuilder build("transpose", {3, 3, 4}, 1);
    const Shape w{2, 2, attributes.groups == 2 ? 1 : 2, 4};
    const Model model = scored(build, conv_transpose(build, shifted(build, build.input()), w, attributes));
    Batch batch(model, 2);
    expect_gradient_is_numerical(model, batch);
  }
}

TEST(ConvTranspose2dRule, RefusesWhatLeadsNowhere) {
  const std::pair<Conv2dAttributes, const char*> cases[] = {
      {{.output_pad_h = 1}, "output padding of the height is not smaller than the stride 1"},
      {{.stride_w = 0}, "output padding of the width"},
      {{.pad_top = 2}, "padding of the height is not smaller"},
      {{.groups = 3}, "does not fit 4 channels in 3 groups"},
      {{.groups = 0}, "does not fit 4 channels in 0 groups"},
      {{.dilation_h = 0}, "dilation of the height is 0"},
      {{.stride_h = 0xffffffff}, "height would be"},
  };
  for (const auto& [attributes, words] : cases) {
    ModelBuilder build("transpose", {3, 3, 4}, 1);
    EXPECT_ERROR(build.finish(conv_transpose(build, build.input(), {2, 2, 1, 4}, attributes)), ErrorCode::malformed,
                 words);
  }
}

TEST(Conv2dRule, DifferentiatesWithDilation) {
  ModelBuilder build("dilated", {5, 5, 2}, 1);
  const TensorId w = build.parameter("w", {2, 3, 2, 2}, random_values(24, 3));
  const TensorId y = build.op(OpKind::conv2d, {shifted(build, build.input()), w},
                              Conv2dAttributes{.pad_left = 1, .dilation_h = 3, .dilation_w = 2});
  EXPECT_EQ(build.shape(y), (Shape{2, 2, 2}));
  const Model model = scored(build, y);
  Batch batch(model, 2);
  expect_gradient_is_numerical(model, batch);
}

TEST(PoolRule, CountsPaddingAndCutWindowsAsAsked) {
  // Windows of two at stride two over 1 2 3: the padded row counts if asked to, that of ceil mode never.
  struct Case {
    Pool2dAttributes attributes;
    std::vector<float> expected;
  };
  const Case cases[] = {
      {{.kernel_h = 2, .stride_h = 2}, {1.5f}},
      {{.kernel_h = 2, .stride_h = 2, .ceil_h = 1}, {1.5f, 3}},
      {{.kernel_h = 2, .stride_h = 2, .ceil_h = 1, .count_padding = true}, {1.5f, 3}},
      {{.kernel_h = 2, .stride_h = 2, .pad_top = 1}, {1, 2.5f}},
      {{.kernel_h = 2, .stride_h = 2, .pad_top = 1, .count_padding = true}, {0.5f, 2.5f}},
  };
  for (const Case& c : cases) {
    ModelBuilder build("pool", {3, 1, 1}, 1);
    const Model model = computing(build, build.op(OpKind::average_pool2d, {build.input()}, c.attributes));
    Batch batch(model, 1);
    batch.floats() = {1, 2, 3};
    EXPECT_EQ(outputs_of(model, batch), c.expected);
  }
}

TEST(PoolRule, DifferentiatesCutWindows) {
  for (const OpKind kind : {OpKind::max_pool2d, OpKind::average_pool2d}) {
    ModelBuilder build("pool", {5, 4, 2}, 1);
    const TensorId y = build.op(kind, {shifted(build, build.input())},
                                Pool2dAttributes{.kernel_h = 2,
                                                 .kernel_w = 3,
                                                 .stride_h = 2,
                                                 .stride_w = 2,
                                                 .pad_left = 1,
                                                 .ceil_h = 1,
                                                 .ceil_w = 1,
                                                 .count_padding = true});
    const Model model = scored(build, y);
    Batch batch(model, 2);
    expect_gradient_is_numerical(model, batch);
  }
}

TEST(PoolRule, RefusesAWindowWithoutAPixel) {
  ModelBuilder build("pool", {4, 1, 1}, 1);
  const TensorId y =
      build.op(OpKind::max_pool2d, {build.input()}, Pool2dAttributes{.kernel_h = 2, .stride_h = 2, .ceil_h = 2});
  EXPECT_ERROR(build.finish(y), ErrorCode::malformed, "last window of the height begins behind the input's 4");
}

TEST(AdaptivePoolRule, CoversTheImageWithWindowsThatMayOverlap) {
  const std::pair<OpKind, std::vector<float>> cases[] = {{OpKind::adaptive_average_pool2d, {1.5f, 2.5f}},
                                                         {OpKind::adaptive_max_pool2d, {2, 3}}};
  for (const auto& [kind, expected] : cases) {
    ModelBuilder build("adaptive", {3, 1, 1}, 1);
    const Model model = computing(build, build.op(kind, {build.input()}, SizeAttributes{2, 1}));
    Batch batch(model, 1);
    batch.floats() = {1, 2, 3};
    EXPECT_EQ(outputs_of(model, batch), expected);
  }
}

TEST(AdaptivePoolRule, Differentiates) {
  for (const OpKind kind : {OpKind::adaptive_average_pool2d, OpKind::adaptive_max_pool2d}) {
    ModelBuilder build("adaptive", {5, 4, 2}, 1);
    const Model model = scored(build, build.op(kind, {shifted(build, build.input())}, SizeAttributes{3, 2}));
    Batch batch(model, 2);
    expect_gradient_is_numerical(model, batch);
  }
}

TEST(AdaptivePoolRule, RefusesAnEmptyImage) {
  ModelBuilder build("adaptive", {5, 4, 2}, 1);
  build.parameter("unused", {1}, {0});
  EXPECT_ERROR(build.finish(build.op(OpKind::adaptive_max_pool2d, {build.input()}, SizeAttributes{0, 2})),
               ErrorCode::malformed, "a dimension is 0");
}

}  // namespace
}  // namespace coterie::test
