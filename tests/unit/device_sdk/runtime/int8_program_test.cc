// Networks that compute in int8: which layers they have, what numbers, and what of a file is refused.
#include "device_sdk/runtime/int8/int8_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "device_sdk/runtime/int8/int8_model.h"
#include "device_sdk/runtime/int8/int8_predictor.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/predictor.h"
#include "device_sdk/runtime/seal.h"
#include "proto/codec/codec.h"
#include "tests/support/int8_parts.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using namespace test;
using testing::ElementsAre;

Model loaded(ModelBuilder& build, TensorId output) {
  Result<Bytes> file = build.finish(output);
  EXPECT_OK(file);
  return *Model::load(std::move(*file));
}

// Every layer that there is, a branch among them.
Model every_layer(bool softmax = true) {
  ModelBuilder build("every", {8, 8, 2}, 5);
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 6, .kernel = 3, .pad = 1}));
  x = build.max_pool2d(x, {});
  TensorId y = build.op(OpKind::relu6, {build.conv2d(x, {.filters = 6, .kernel = 3, .pad = 1, .groups = 6})});
  x = build.relu(build.add(x, build.conv2d(y, {.filters = 6, .kernel = 1, .bias = false})));
  x = build.op(OpKind::clip, {build.average_pool2d(x, {})}, UnaryAttributes{.alpha = -1, .beta = 2});
  x = build.dense(build.flatten(x), 5);
  if (softmax) x = build.op(OpKind::softmax, {x}, AxisAttributes{.axis = 1});
  return loaded(build, x);
}

TEST(Int8Layers, WhatFollowsALayerIsPartOfIt) {
  const Result<Int8Layers> layers = int8_layers(every_layer());
  ASSERT_OK(layers);
  using enum Int8Kind;
  std::vector<Int8Kind> kinds;
  for (const Int8Layer& layer : layers->layers) kinds.push_back(layer.kind);
  EXPECT_THAT(kinds, ElementsAre(conv2d, max_pool2d, conv2d, conv2d, add, average_pool2d, dense));
  EXPECT_TRUE(layers->has_softmax);
  EXPECT_EQ(layers->layers[0].low, 0);
  EXPECT_EQ(layers->layers[2].high, 6);
  EXPECT_EQ(layers->layers[3].bias, kNoTensor);
  EXPECT_EQ(layers->layers[4].inputs.size(), 2u);
  EXPECT_EQ(layers->layers[4].low, 0);
  EXPECT_EQ(layers->layers[5].low, -1);
  EXPECT_EQ(layers->layers[5].high, 2);
  EXPECT_EQ(int8_grid_tensors(*layers).size(), 7u);  // the input, and all but max_pool2d
}

TEST(Int8Layers, AReluThatStandsAloneIsALayer) {
  ModelBuilder build("alone", {4}, 1);
  const TensorId first = build.dense(build.input(), 4);
  const TensorId sum = build.add(first, build.relu(first));  // two read what `first` writes
  const Model model = loaded(build, build.relu(build.relu(sum)));
  const Result<Int8Layers> layers = int8_layers(model);
  ASSERT_OK(layers);
  using enum Int8Kind;
  ASSERT_EQ(layers->layers.size(), 3u);
  EXPECT_EQ(layers->layers[1].kind, clamp);
  EXPECT_EQ(layers->layers[2].kind, add);
  EXPECT_EQ(layers->layers[2].low, 0);
}

TEST(Int8Layers, WhatCannotIsNamed) {
  const auto refused = [](ModelBuilder& build, TensorId output, std::string_view words) {
    EXPECT_ERROR(int8_layers(loaded(build, output)), ErrorCode::invalid_argument, words);
  };
  ModelBuilder tanh("tanh", {4}, 1);
  refused(tanh, tanh.op(OpKind::tanh, {tanh.dense(tanh.input(), 4)}), "(tanh) cannot compute in int8: dense, conv2d");
  ModelBuilder norm("norm", {4, 4, 2}, 1);
  refused(norm, norm.batch_norm(norm.input()), "(batch_norm) cannot compute in int8");
  ModelBuilder early("early", {4}, 1);
  const TensorId softmax = early.op(OpKind::softmax, {early.dense(early.input(), 4)}, AxisAttributes{.axis = 1});
  refused(early, early.dense(softmax, 3), "must be the model's last op");
  ModelBuilder rows("rows", {3, 4}, 1);
  refused(rows, rows.dense(rows.input(), 4), "several rows an example");
  ModelBuilder other("other", {4}, 1);
  refused(other, other.add(other.dense(other.input(), 4), other.parameter("p", {1, 4}, {1, 2, 3, 4})),
          "no value of the network");
  ModelBuilder broadcast("broadcast", {4}, 1);
  refused(broadcast, broadcast.add(broadcast.dense(broadcast.input(), 4), broadcast.dense(broadcast.input(), 1)),
          "different shapes");
  ModelBuilder two("two", {4}, 1);
  const TensorId second = two.input("second", {4});
  refused(two, two.add(two.dense(two.input(), 4), second), "one input of float32");
  ModelBuilder ends("ends", {4}, 1);
  (void)ends.dense(ends.input(), 4);
  refused(ends, ends.flatten(ends.input()), "no layer");
}

// 2 inputs, 2 outputs: x = (1, -.5) on a grid of .5 with zero 3 is (5, 2); weights (2 -1; 4 3) by (.25, .5);
// bias (.5, -1) on .125 and .25: 4, -4. Sums: 2*2 - 1*4 + 4 = 4 -> .5; -1*2 - 3 - 4 = -9 -> -2.25. Output by .1.
TEST(Int8Program, ADenseLayerByHand) {
  ModelBuilder build("hand", {2}, 1);
  const TensorId w = build.parameter("w", {2, 2}, {.5f, -.5f, 1, 1.5f}), b = build.parameter("b", {2}, {.5f, -1});
  const Model model = loaded(build, build.op(OpKind::dense, {build.input(), w, b}));
  const uint32_t output = model.graph().output;
  const std::vector<Int8Weights> weights = {{.form = {w, 1, {.25f, .5f}}, .values = {2, -1, 4, 3}}};
  const Result<Int8Program> program = make_int8_program(model, weights, {{0, .5f, 3}, {output, .1f, 20}});
  ASSERT_OK(program);
  EXPECT_THAT(program->steps[0].bias, ElementsAre(4, -4));
  EXPECT_THAT(program->steps[0].multipliers, ElementsAre(.125f / .1f, .25f / .1f));
  Int8Predictor predictor(*program);
  const std::vector<float> input = {1, -.5f};
  std::vector<float> answer(2);
  ASSERT_OK(predictor.run(input, 1, answer));
  // 4 * 1.25 = 5; -9 * 2.5 = -22.5, to even -22.
  EXPECT_THAT(answer, ElementsAre(.1f * 5, .1f * -22));
  EXPECT_THAT(predictor.value(0), ElementsAre(5, 2));
  EXPECT_THAT(predictor.value(1), ElementsAre(25, -2));
  EXPECT_ERROR(predictor.run(input, 2, answer), ErrorCode::invalid_argument, "2 inputs and 2 outputs");
}

// On fine grids it is the float32 model but for the rounding of its values.
TEST(Int8Program, IsNearTheModelThatItStandsFor) {
  const Model model = every_layer(false);
  Int8Parts parts = int8_parts(model);
  const Result<Model> exact = Model::load(*expand_model(store_as_int8(model, parts.weights)));
  ASSERT_OK(exact);
  Result<Predictor> engine = Predictor::create(*exact, 1);
  ASSERT_OK(engine);
  const Result<Int8Program> program = make_int8_program(*exact, parts.weights, parts.grids);
  ASSERT_OK(program);
  Int8Predictor predictor(*program);
  std::mt19937_64 chance(1);
  double noise = 0, signal = 0;
  for (int example = 0; example < 20; ++example) {
    std::vector<float> input(8 * 8 * 2), expected(5), seen(5);
    for (float& value : input) value = static_cast<float>(chance() % 2001) / 1000 - 1;
    const std::span<const float> view = input;
    ASSERT_OK(engine->run({&view, 1}, 1, expected));
    ASSERT_OK(predictor.run(input, 1, seen));
    for (size_t i = 0; i < 5; ++i) {
      noise += std::pow(static_cast<double>(seen[i] - expected[i]), 2);
      signal += std::pow(static_cast<double>(expected[i]), 2);
    }
  }
  EXPECT_GT(signal, 1);
  EXPECT_LT(noise, signal / 100);
}

TEST(Int8Program, EveryAdderHasTheSameBits) {
  using kernels::int8::Adder;
  const Model model = every_layer();
  const Int8Parts parts = int8_parts(model);
  const Result<Int8Program> program = make_int8_program(model, parts.weights, parts.grids);
  ASSERT_OK(program);
  const auto outputs = [&](Adder adder) {
    Int8Predictor predictor(*program, adder);
    std::mt19937_64 chance(3);
    std::vector<float> input(4 * 8 * 8 * 2), seen(4 * 5);
    for (float& value : input) value = static_cast<float>(chance() % 2001) / 1000 - 1;
    EXPECT_OK(predictor.run(input, 4, seen));
    return seen;
  };
  const std::vector<float> reference = outputs(Adder::reference);
  for (const Adder adder : kernels::int8::adders()) {
    EXPECT_EQ(outputs(adder), reference) << to_string(adder);
  }
}

TEST(Int8Predictor, HoldsNoMoreThanItMay) {
  const Model model = every_layer();
  const Int8Parts parts = int8_parts(model);
  const Result<Int8Program> program = make_int8_program(model, parts.weights, parts.grids);
  ASSERT_OK(program);
  for (const kernels::int8::Adder adder : kernels::int8::adders()) {
    SCOPED_TRACE(to_string(adder));
    const uint64_t bytes = Int8Predictor(*program, adder).bytes();
    EXPECT_GT(bytes, 8u * 8 * 2 + 8 * 8 * 6);  // the input and the first layer's values
    EXPECT_OK(Int8Predictor::create(*program, bytes, adder));
    for (const uint64_t less : {bytes - 1, bytes / 2, uint64_t{0}})
      EXPECT_ERROR(Int8Predictor::create(*program, less, adder), ErrorCode::too_large, std::to_string(less));
  }
}

TEST(Int8Program, ProbabilitiesAddUpToOne) {
  const Model model = every_layer();
  const Int8Parts parts = int8_parts(model);
  const Result<Int8Program> program = make_int8_program(model, parts.weights, parts.grids);
  ASSERT_OK(program);
  Int8Predictor predictor(*program);
  const std::vector<float> input(8 * 8 * 2, .5f);
  std::vector<float> seen(5);
  ASSERT_OK(predictor.run(input, 1, seen));
  EXPECT_NEAR(seen[0] + seen[1] + seen[2] + seen[3] + seen[4], 1, 1e-6);
}

TEST(Int8Program, LiesAboutNumbers) {
  const Model model = every_layer();
  const Int8Parts good = int8_parts(model);
  const auto refused = [&](const Int8Parts& parts, std::string_view words) {
    EXPECT_ERROR(make_int8_program(model, parts.weights, parts.grids), ErrorCode::malformed, words);
    // As a file the same.
    EXPECT_ERROR(open_int8_model(store_as_int8(model, parts.weights, parts.grids)), ErrorCode::malformed, words);
  };
  for (size_t i = 0; i < good.grids.size(); ++i) {
    Int8Parts parts = good;
    parts.grids.erase(parts.grids.begin() + static_cast<ptrdiff_t>(i));
    refused(parts, "has no grid, and is computed as int8");
  }
  Int8Parts more = good;
  const auto pooled = std::ranges::find(model.graph().ops, OpKind::max_pool2d, &OpInfo::kind)->outputs[0];
  more.grids.push_back({pooled, 1, 0});
  std::ranges::sort(more.grids, {}, &TensorGrid::tensor);
  refused(more, "has a grid that nothing needs");
  Int8Parts fewer = good;
  fewer.weights.pop_back();
  refused(fewer, "is not stored as int8 by its last dimension");
  Int8Parts axis = good;
  axis.weights.back().form = {
      axis.weights.back().form.tensor, 0,
      std::vector<float>(static_cast<size_t>(model.graph().tensors[axis.weights.back().form.tensor].shape[0]), 1)};
  refused(axis, "is not stored as int8 by its last dimension");
  Int8Parts tiny = good;
  tiny.weights[0].form.scales[1] = 1e-38f;
  refused(tiny, "no normal number");
}

TEST(Int8Program, NoSumLeavesItsBits) {
  ModelBuilder build("long", {70'000}, 1);
  const TensorId w = build.parameter("w", {70'000, 1}, std::vector<float>(70'000, 1)),
                 b = build.parameter("b", {1}, {1});
  const Model model = loaded(build, build.op(OpKind::dense, {build.input(), w, b}));
  const uint32_t output = model.graph().output;
  Int8Weights weights{.form = {w, 1, {1.0f / 127}}, .values = std::vector<int8_t>(70'000, 127)};
  EXPECT_ERROR(make_int8_program(model, {weights}, {{0, 1, -128}, {output, 1, 0}}), ErrorCode::malformed,
               "could leave 32 bits");
  EXPECT_OK(make_int8_program(model, {weights}, {{0, 1, 0}, {output, 1, 0}}));  // |x| is at most 128
  weights.form.scales[0] = 1e-15f;
  EXPECT_ERROR(make_int8_program(model, {weights}, {{0, 1e-3f, 0}, {output, 1, 0}}), ErrorCode::malformed,
               "has a bias that is too large");
}

// By itself it answers on the grid of what it reads, which has nothing between its bounds.
TEST(Int8Program, AClipBeyondTheGridThatItKeeps) {
  const auto refused = [](float low, float high) {
    ModelBuilder build("clip", {4}, 1);
    const TensorId x = build.op(OpKind::clip, {build.input()}, UnaryAttributes{.alpha = low, .beta = high}, "clip");
    const Model model = loaded(build, build.dense(x, 2));
    Int8Parts parts = int8_parts(model, 1.0f / 128, -128);  // 0 to 1.99
    const Result<Int8Program> program = make_int8_program(model, parts.weights, parts.grids);
    return program ? "" : program.error().message();
  };
  EXPECT_EQ(refused(1, 3), "");
  EXPECT_EQ(refused(-3, 0), "");
  EXPECT_THAT(refused(2, 3), testing::HasSubstr("op clip bounds its input to values that the input never has"));
  EXPECT_THAT(refused(-3, -.1f), testing::HasSubstr("op clip"));
}

TEST(Int8Program, OneWeightIsOfOneLayer) {
  ModelBuilder build("shared", {4}, 1);
  const TensorId w = build.uniform("w", {4, 4}, .5);
  const TensorId x = build.op(OpKind::dense, {build.input(), w});
  const Model model = loaded(build, build.op(OpKind::dense, {x, w}));
  Int8Parts parts = int8_parts(model);
  parts.weights.pop_back();
  EXPECT_ERROR(make_int8_program(model, parts.weights, parts.grids), ErrorCode::malformed, "the weight of two layers");
}

TEST(Int8Model, TheFileIsTheProgram) {
  const Model model = every_layer();
  const Int8Parts parts = int8_parts(model);
  const Bytes file = store_as_int8(model, parts.weights, parts.grids);
  EXPECT_TRUE(computes_in_int8(file));
  const Result<Int8Model> opened = open_int8_model(file);
  ASSERT_OK(opened);
  const Result<Int8Program> made = make_int8_program(opened->exact, parts.weights, parts.grids);
  ASSERT_OK(made);
  ASSERT_EQ(opened->program.steps.size(), made->steps.size());
  for (size_t i = 0; i < made->steps.size(); ++i) {
    EXPECT_EQ(opened->program.steps[i].weights, made->steps[i].weights);
    EXPECT_EQ(opened->program.steps[i].bias, made->steps[i].bias);
    EXPECT_EQ(opened->program.steps[i].multipliers, made->steps[i].multipliers);
    EXPECT_EQ(opened->program.steps[i].to, made->steps[i].to);
  }
}

// Whoever takes float32 alone says so, by name.
TEST(Int8Model, IsRefusedAsFloat32) {
  const Model model = every_layer();
  const Int8Parts parts = int8_parts(model);
  const Bytes file = store_as_int8(model, parts.weights, parts.grids);
  EXPECT_ERROR(expand_model(file), ErrorCode::invalid_argument, "computes in int8");
  EXPECT_ERROR(Model::load(file), ErrorCode::malformed, "is computed as int8");
  const Bytes back = expanded_file(*decode_stored_model(file));
  EXPECT_FALSE(computes_in_int8(back));
  EXPECT_OK(Model::load(back));
  const Bytes weights_alone = store_as_int8(model, parts.weights);
  EXPECT_FALSE(computes_in_int8(weights_alone));
  EXPECT_ERROR(open_int8_model(weights_alone), ErrorCode::malformed, "does not compute in int8");
  EXPECT_ERROR(open_int8_model(Bytes{1, 2, 3}), ErrorCode::malformed, "");
}

TEST(Int8Model, GridsHaveBounds) {
  const Model model = every_layer();
  const auto refused = [&](uint32_t tensor, float scale, std::string_view words) {
    Int8Parts parts = int8_parts(model);
    std::erase_if(parts.grids, [&](const TensorGrid& grid) { return grid.tensor == tensor; });
    parts.grids.push_back({tensor, scale, 3});
    std::ranges::sort(parts.grids, {}, &TensorGrid::tensor);
    EXPECT_ERROR(open_int8_model(store_as_int8(model, parts.weights, parts.grids)), ErrorCode::malformed, words);
  };
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float scale : {0.0f, -1.0f, infinity, std::nanf(""), 0x1p-61f, 0x1p61f}) {
    refused(0, scale, "whose scale is outside");
  }
  refused(1, 1, "is neither an input nor an activation");  // a parameter
}

TEST(Int8Model, EveryPrefixIsRefusedAndNoMutationBreaksIt) {
  const Model model = every_layer();
  const Int8Parts parts = int8_parts(model);
  const Bytes file = store_as_int8(model, parts.weights, parts.grids);
  for (size_t size = 0; size < file.size(); ++size) {
    ASSERT_FALSE(open_int8_model(Bytes(file.begin(), file.begin() + static_cast<ptrdiff_t>(size)))) << size;
  }
  std::mt19937_64 chance(5);
  int opened = 0;
  const std::vector<float> input(8 * 8 * 2, .5f);
  for (int round = 0; round < 2000; ++round) {
    Bytes damaged = file;
    for (uint64_t i = 0; i <= chance() % 3; ++i) damaged[chance() % damaged.size()] = static_cast<uint8_t>(chance());
    const Result<Int8Model> found = open_int8_model(damaged);
    if (!found) {
      ASSERT_NE(found.error().code(), ErrorCode::internal);
      continue;
    }
    ++opened;
    if (found->program.input_shape != model.input_shape()) continue;
    Int8Predictor predictor(found->program);
    std::vector<float> output(predictor.output_elements());
    ASSERT_OK(predictor.run(input, 1, output));
  }
  EXPECT_GT(opened, 100);  // changed weights, scales and zeros are another network
}

}  // namespace
}  // namespace coterie
