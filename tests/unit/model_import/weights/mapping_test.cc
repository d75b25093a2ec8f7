// Which tensor of a file is which of a model, and what becomes of its elements. The files of the tests are made of a
// model's own values by plain loops, so that what is loaded has to be that model, to the bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/predictor.h"
#include "model_import/mapping/map_weights.h"
#include "tests/support/matchers.h"
#include "tests/unit/model_import/weights/made_table.h"

namespace coterie {
namespace {

using namespace model_import;
using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

Model loaded(Result<Bytes> file) {
  EXPECT_OK(file);
  Result<Model> model = Model::load(std::move(*file));
  EXPECT_OK(model);
  return *model;
}

// Two layers of images, flattened, and a linear layer.
Model small_cnn(uint64_t seed) {
  ModelBuilder build("cnn", {6, 4, 2}, seed);
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 3, .kernel = 3, .pad = 1}));
  x = build.relu(build.batch_norm(build.conv2d(x, {.filters = 3, .kernel = 3, .pad = 1})));
  return loaded(build.finish(build.dense(build.flatten(x), 5)));
}

std::vector<float> values_of(const Model& model, const std::string& name, Shape* shape = nullptr) {
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.name != name) continue;
    if (shape != nullptr) *shape = tensor.shape;
    const auto all = model.parameters().subspan(tensor.payload_offset / sizeof(float), elements(tensor.shape));
    return {all.begin(), all.end()};
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

// [kh, kw, in, out] as PyTorch's [out, in, kh, kw].
void add_convolution(MadeTable& file, const std::string& name, const Model& model, const std::string& from) {
  Shape s;
  const std::vector<float> values = values_of(model, from, &s);
  std::vector<float> moved(values.size());
  for (int64_t y = 0; y < s[0]; ++y) {
    for (int64_t x = 0; x < s[1]; ++x) {
      for (int64_t i = 0; i < s[2]; ++i) {
        for (int64_t o = 0; o < s[3]; ++o) {
          moved[static_cast<size_t>(((o * s[2] + i) * s[0] + y) * s[1] + x)] =
              values[static_cast<size_t>(((y * s[1] + x) * s[2] + i) * s[3] + o)];
        }
      }
    }
  }
  file.add(name, {s[3], s[2], s[0], s[1]}, moved);
}

// [in, out] as [out, in], and, where `image` says of which height, width and channels the input is flattened, its
// columns as a framework has them that flattens [channels, height, width].
void add_linear(MadeTable& file, const std::string& name, const Model& model, const std::string& from,
                const Shape& image = {}) {
  Shape s;
  const std::vector<float> values = values_of(model, from, &s);
  std::vector<float> moved(values.size());
  for (int64_t row = 0; row < s[0]; ++row) {
    int64_t column = row;
    if (!image.empty()) column = row % image[2] * image[0] * image[1] + row / image[2];
    for (int64_t o = 0; o < s[1]; ++o) {
      moved[static_cast<size_t>(o * s[0] + column)] = values[static_cast<size_t>(row * s[1] + o)];
    }
  }
  file.add(name, {s[1], s[0]}, moved);
}

void add_vector(MadeTable& file, const std::string& name, const Model& model, const std::string& from) {
  Shape shape;
  const std::vector<float> values = values_of(model, from, &shape);
  file.add(name, shape, values);
}

std::vector<std::string> norm_names(const Model& model) {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (has_payload(tensor.role) && tensor.name.starts_with("batch_norm")) names.push_back(tensor.name);
  }
  return names;
}

// As PyTorch, or with other words for layers and parts, in its order.
void add_small_cnn(MadeTable& file, const Model& model, const std::vector<std::string>& layers,
                   const std::vector<std::string>& norm_parts) {
  add_convolution(file, layers[0] + ".weight", model, "conv1.weight");
  add_vector(file, layers[0] + ".bias", model, "conv1.bias");
  add_convolution(file, layers[1] + ".weight", model, "conv2.weight");
  add_vector(file, layers[1] + ".bias", model, "conv2.bias");
  const std::vector<std::string> norm = norm_names(model);
  for (size_t i = 0; i < 4; ++i) add_vector(file, layers[2] + "." + norm_parts[i], model, norm[i]);
  add_linear(file, layers[3] + ".weight", model, "dense1.weight", {6, 4, 3});
  add_vector(file, layers[3] + ".bias", model, "dense1.bias");
}

void expect_becomes(const Model& graph, const WeightTable& table, const Model& expected,
                    const MapOptions& options = {}) {
  const Result<MapReport> report = map_weights(graph, table, options);
  ASSERT_OK(report);
  for (const MapProblem& problem : report->problems) ADD_FAILURE() << problem.name << ": " << problem.what;
  EXPECT_TRUE(std::ranges::equal(report->parameters, expected.parameters()));
}

TEST(Mapping, NamesOfPytorch) {
  const Model source = small_cnn(1), graph = small_cnn(2);
  MadeTable file(WeightFormat::safetensors);
  add_small_cnn(file, source, {"conv1", "conv2", "batch_norm1", "dense1"},
                {"weight", "bias", "running_mean", "running_var"});
  expect_becomes(graph, file.table(), source);
  const Result<MapReport> report = map_weights(graph, file.table());
  const MappedTensor& linear = report->tensors[report->tensors.size() - 2];
  EXPECT_EQ(linear.name, "dense1.weight");
  EXPECT_EQ(linear.rule, "exact name");
  EXPECT_EQ(linear.how, "transposed, rows to channels last");
  EXPECT_GT(linear.change, 0);
}

// A graph that flattens an image with its channels last may have weights of its own, or PyTorch's.
TEST(Mapping, RowsOfAFlattenedImageLieAsIsSaid) {
  const Model source = small_cnn(1), graph = small_cnn(2);
  MadeTable pytorch(WeightFormat::safetensors), own(WeightFormat::safetensors);
  for (MadeTable* file : {&pytorch, &own}) {
    const std::vector<std::string> norm = norm_names(source);
    for (const std::string layer : {"conv1", "conv2"}) {
      add_convolution(*file, layer + ".weight", source, layer + ".weight");
      add_vector(*file, layer + ".bias", source, layer + ".bias");
    }
    for (const std::string& name : norm) add_vector(*file, name, source, name);
    add_linear(*file, "dense1.weight", source, "dense1.weight", file == &pytorch ? Shape{6, 4, 3} : Shape{});
    add_vector(*file, "dense1.bias", source, "dense1.bias");
  }
  expect_becomes(graph, pytorch.table(), source, {.rows = RowOrder::channels_first});
  expect_becomes(graph, own.table(), source, {.rows = RowOrder::as_graph});
  const Result<MapReport> unknown = map_weights(graph, own.table(), {.rows = RowOrder::unknown});
  ASSERT_OK(unknown);
  ASSERT_EQ(unknown->problems.size(), 1u);
  EXPECT_EQ(unknown->problems[0].name, "dense1.weight");
  EXPECT_NE(unknown->problems[0].what.find("ambiguous: its rows are of a flattened image"), std::string::npos);
}

TEST(Mapping, NamesOfMindsporeInsideOfAnother) {
  const Model source = small_cnn(1), graph = small_cnn(2);
  MadeTable file(WeightFormat::mindspore);
  add_small_cnn(file, source, {"backbone.conv1", "backbone.conv2", "backbone.batch_norm1", "backbone.dense1"},
                {"gamma", "beta", "moving_mean", "moving_variance"});
  expect_becomes(graph, file.table(), source);
}

// No name is like the model's: the order decides, as there are as many on both sides and all fit.
TEST(Mapping, OrderOfOtherNames) {
  const Model source = small_cnn(1), graph = small_cnn(2);
  MadeTable file(WeightFormat::pytorch);
  add_small_cnn(file, source, {"a.0", "a.3", "a.4", "head"}, {"weight", "bias", "running_mean", "running_var"});
  expect_becomes(graph, file.table(), source);
  EXPECT_EQ(map_weights(graph, file.table())->tensors[0].confidence, "medium");
  // Safetensors has no order: the two biases of three could be either.
  MadeTable sorted(WeightFormat::safetensors);
  add_small_cnn(sorted, source, {"a.0", "a.3", "a.4", "head"}, {"weight", "bias", "running_mean", "running_var"});
  const Result<MapReport> report = map_weights(graph, sorted.table());
  ASSERT_OK(report);
  EXPECT_FALSE(report->problems.empty());
  EXPECT_THAT(report->problems[0].what, HasSubstr("ambiguous"));
  // By hand it is said.
  expect_becomes(graph, sorted.table(), source,
                 {.by_hand = {{"conv1.*", "a.0.*"},
                              {"conv2.*", "a.3.*"},
                              {"batch_norm1.scale", "a.4.weight"},
                              {"batch_norm1.bias", "a.4.bias"},
                              {"dense1.*", "head.*"}}});
}

TEST(Mapping, WhatHasNoPlace) {
  const Model source = small_cnn(1), graph = small_cnn(2);
  MadeTable file(WeightFormat::pytorch);
  add_small_cnn(file, source, {"conv1", "conv2", "batch_norm1", "other"},
                {"weight", "bias", "running_mean", "running_var"});
  file.add("extra", {7}, std::vector<float>(7));
  const Result<MapReport> report = map_weights(graph, file.table(), {.keep = {"dense1.*"}});
  ASSERT_OK(report);
  ASSERT_EQ(report->problems.size(), 3u);
  EXPECT_THAT(report->problems[0].what, HasSubstr("unused: the model has no place for it (5x72)"));
  const Result<MapReport> kept =
      map_weights(graph, file.table(), {.keep = {"dense1.*"}, .ignore = {"extra", "other.*"}});
  ASSERT_OK(kept);
  EXPECT_TRUE(kept->problems.empty());
  EXPECT_ERROR(map_weights(graph, file.table(), {.keep = {"nothing"}}), ErrorCode::invalid_argument, "--keep nothing");
  EXPECT_ERROR(map_weights(graph, file.table(), {.ignore = {"nothing"}}), ErrorCode::invalid_argument,
               "--ignore nothing");
  EXPECT_ERROR(map_weights(graph, file.table(), {.by_hand = {{"a", "b"}}}), ErrorCode::invalid_argument, "--map a=b");
  // A head of another size, under its name.
  MadeTable head(WeightFormat::pytorch);
  add_small_cnn(head, source, {"conv1", "conv2", "batch_norm1", "x"},
                {"weight", "bias", "running_mean", "running_var"});
  head.add("dense1.weight", {9, 72}, std::vector<float>(9 * 72));
  const Result<MapReport> other = map_weights(graph, head.table(), {.ignore = {"x.*"}});
  ASSERT_OK(other);
  EXPECT_THAT(other->problems[0].what, HasSubstr("the file's tensor of this name is 9x72, the model's 72x5"));
}

Model square(uint64_t seed, uint32_t units) {
  ModelBuilder build("square", {4}, seed);
  return loaded(build.finish(build.dense(build.dense(build.input(), 4), units)));
}

// Only what the file shows elsewhere tells whether a square weight is transposed.
TEST(Mapping, SquareWeights) {
  const auto file_of = [](const Model& model, bool out_first, WeightFormat format, const std::string& word) {
    MadeTable file(format);
    for (const std::string layer : {"dense1", "dense2"}) {
      if (out_first) add_linear(file, layer + "." + word, model, layer + ".weight");
      else add_vector(file, layer + "." + word, model, layer + ".weight");
      add_vector(file, layer + ".bias", model, layer + ".bias");
    }
    return file;
  };
  const Model source = square(1, 3), graph = square(2, 3);
  for (const bool out_first : {true, false}) {
    expect_becomes(graph, file_of(source, out_first, WeightFormat::safetensors, "weight").table(), source);
  }
  // Nothing but squares: the format, or the word, or the caller.
  const Model all_square = square(1, 4), other = square(2, 4);
  expect_becomes(other, file_of(all_square, true, WeightFormat::pytorch, "weight").table(), all_square);
  expect_becomes(other, file_of(all_square, false, WeightFormat::npz, "kernel").table(), all_square);
  const MadeTable unclear = file_of(all_square, false, WeightFormat::npz, "w");
  const Result<MapReport> report = map_weights(other, unclear.table());
  ASSERT_OK(report);
  ASSERT_EQ(report->problems.size(), 2u);
  EXPECT_THAT(report->problems[0].what, HasSubstr("fits as it is and transposed; say --layout"));
  expect_becomes(other, unclear.table(), all_square, {.layout = WeightLayout::in_first});
}

// A model in which norms were folded, and a file in which they stand apart: the same outputs as with them.
TEST(Mapping, FusedNorms) {
  const auto with_norm = [](uint64_t seed, bool is_fused) {
    ModelBuilder build("net", {5, 5, 2}, seed);
    TensorId x = build.conv2d(build.input(), {.filters = 3, .kernel = 3, .bias = is_fused});
    if (!is_fused) x = build.batch_norm(x);
    return loaded(build.finish(build.global_average_pool2d(x)));
  };
  const Model apart = with_norm(1, false), fused = with_norm(2, true);
  std::vector<float> values(apart.parameters().begin(), apart.parameters().end());
  const std::vector<std::vector<float>> parts = {{1.5f, -.5f, 2}, {.25f, 0, -1}, {.5f, -.75f, .1f}, {.9f, 2, .3f}};
  const std::vector<std::string> norm = norm_names(apart);
  for (size_t i = 0; i < 4; ++i) {
    for (const TensorInfo& tensor : apart.graph().tensors) {
      if (tensor.name == norm[i]) {
        std::ranges::copy(parts[i], values.begin() + static_cast<ptrdiff_t>(tensor.payload_offset / sizeof(float)));
      }
    }
  }
  const Model original = loaded(apart.file_with(values));
  MadeTable file(WeightFormat::pytorch);
  add_convolution(file, "conv1.weight", original, "conv1.weight");
  const std::vector<std::string> words = {"weight", "bias", "running_mean", "running_var"};
  for (size_t i = 0; i < 4; ++i) add_vector(file, "bn1." + words[i], original, norm[i]);
  const Result<MapReport> report = map_weights(fused, file.table());
  ASSERT_OK(report);
  for (const MapProblem& problem : report->problems) ADD_FAILURE() << problem.name << ": " << problem.what;
  EXPECT_EQ(report->tensors[0].rule, "exact name, fused norm");
  const Model result = loaded(fused.file_with(report->parameters));
  std::vector<float> input(50), expected(3), seen(3);
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i * 13 % 17) / 8 - 1;
  const std::vector<std::span<const float>> inputs = {input};
  ASSERT_OK(Predictor::create(original, 1)->run(inputs, 1, expected));
  ASSERT_OK(Predictor::create(result, 1)->run(inputs, 1, seen));
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(seen[i], expected[i], 2e-6) << i;
}

Slot recurrent_slot(OpKind op, Shape shape, SlotKind kind) {
  Slot slot{.name = "rnn", .shape = std::move(shape), .kind = kind, .op = op};
  slot.count = elements(slot.shape);
  return slot;
}

std::vector<float> counted_up(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

// One hidden unit and one input: a weight is one element a gate.
TEST(Mapping, GatesOfRecurrentLayers) {
  const auto weight = [](OpKind op, int64_t gates, const Shape& shape, bool is_kernel) {
    const Slot slot = recurrent_slot(op, {1, gates}, SlotKind::recurrent_weight);
    const std::vector<Fit> found = fits(slot, {.name = "w", .shape = shape}, is_kernel);
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? std::vector<float>() : fitted(slot, found[0], {counted_up(static_cast<size_t>(gates))});
  };
  EXPECT_THAT(weight(OpKind::lstm, 4, {4, 1}, false), ElementsAre(0, 1, 2, 3));     // PyTorch: i f g o
  EXPECT_THAT(weight(OpKind::lstm, 4, {1, 4, 1}, false), ElementsAre(0, 2, 3, 1));  // ONNX: i o f c
  EXPECT_THAT(weight(OpKind::lstm, 4, {1, 4}, true), ElementsAre(0, 1, 2, 3));      // Keras: i f c o
  EXPECT_THAT(weight(OpKind::gru, 3, {3, 1}, false), ElementsAre(0, 1, 2));         // PyTorch: r z n
  EXPECT_THAT(weight(OpKind::gru, 3, {1, 3, 1}, false), ElementsAre(1, 0, 2));      // ONNX: z r h
  EXPECT_THAT(weight(OpKind::gru, 3, {1, 3}, true), ElementsAre(1, 0, 2));          // Keras: z r h
}

TEST(Mapping, BiasesOfRecurrentLayers) {
  const auto bias = [](OpKind op, int64_t size, const Offer& offer, std::vector<std::vector<float>> parts) {
    const Slot slot = recurrent_slot(op, {size}, SlotKind::recurrent_bias);
    const std::vector<Fit> found = fits(slot, offer, false);
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? std::vector<float>() : fitted(slot, found[0], std::move(parts));
  };
  EXPECT_THAT(bias(OpKind::lstm, 4, {"b", {4}, 2}, {{0, 1, 2, 3}, {10, 20, 30, 40}}), ElementsAre(10, 21, 32, 43));
  EXPECT_THAT(bias(OpKind::lstm, 4, {"b", {4}, 1}, {{0, 1, 2, 3}}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(bias(OpKind::lstm, 4, {"b", {1, 8}, 1}, {counted_up(8)}), ElementsAre(4, 8, 10, 6));
  EXPECT_THAT(bias(OpKind::gru, 6, {"b", {3}, 2}, {{0, 1, 2}, {3, 4, 5}}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(bias(OpKind::gru, 6, {"b", {1, 6}, 1}, {counted_up(6)}), ElementsAre(1, 0, 2, 4, 3, 5));
  EXPECT_THAT(bias(OpKind::gru, 6, {"b", {2, 3}, 1}, {counted_up(6)}), ElementsAre(1, 0, 2, 4, 3, 5));
}

TEST(Mapping, BiasesThatTheModelHasApart) {
  const auto bias = [](OpKind op, int64_t size, const Offer& offer, const std::vector<float>& values) {
    const Slot slot = recurrent_slot(op, {size}, SlotKind::recurrent_half);
    const std::vector<Fit> found = fits(slot, offer, false);
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? std::vector<float>() : fitted(slot, found[0], {values}, offer.half);
  };
  EXPECT_THAT(bias(OpKind::lstm, 4, {"b", {4}}, {0, 1, 2, 3}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(bias(OpKind::lstm, 4, {"b", {1, 8}, 1, 1}, counted_up(8)), ElementsAre(0, 2, 3, 1));  // ONNX: i o f c
  EXPECT_THAT(bias(OpKind::lstm, 4, {"b", {1, 8}, 1, 2}, counted_up(8)), ElementsAre(4, 6, 7, 5));
  EXPECT_THAT(bias(OpKind::gru, 3, {"b", {3}}, {0, 1, 2}), ElementsAre(0, 1, 2));
  EXPECT_THAT(bias(OpKind::gru, 3, {"b", {2, 3}, 1, 2}, counted_up(6)), ElementsAre(4, 3, 5));  // Keras: z r h
  EXPECT_THAT(bias(OpKind::rnn, 2, {"b", {1, 4}, 1, 2}, counted_up(4)), ElementsAre(2, 3));
  EXPECT_TRUE(fits(recurrent_slot(OpKind::lstm, {4}, SlotKind::recurrent_half), {"b", {4}, 2}, false).empty());
  EXPECT_TRUE(fits(recurrent_slot(OpKind::lstm, {4}, SlotKind::recurrent_half), {"b", {2, 8}, 1, 1}, false).empty());
}

// PyTorch's state dict of a GRU of one hidden unit goes to a model that has its biases apart, tensor by tensor, and so
// does a file with both in one.
TEST(Mapping, StateDictOfRecurrentLayer) {
  const auto model = [](float first) {
    ModelBuilder build("net", {4, 2}, 1);
    const auto parameter = [&](const std::string& name, Shape shape) {
      std::vector<float> values(elements(shape));
      for (float& value : values) value = first++;
      return build.parameter("rnn." + name, std::move(shape), values);
    };
    const TensorId x = build.op(OpKind::transpose, {build.input()}, TransposeAttributes{{1, 0, 2}});
    std::vector<TensorId> operands = {x, parameter("weight_ih_l0", {2, 3}), parameter("weight_hh_l0", {1, 3}),
                                      parameter("bias_ih_l0", {3}), kNoTensor};
    operands.push_back(parameter("bias_hh_l0", {3}));
    return loaded(build.finish(build.outputs(OpKind::gru, operands, RnnAttributes{.hidden = 1})[1]));
  };
  const Model source = model(0), graph = model(100);
  MadeTable file(WeightFormat::pytorch);
  file.add("rnn.weight_ih_l0", {3, 2}, {0, 3, 1, 4, 2, 5});
  file.add("rnn.weight_hh_l0", {3, 1}, {6, 7, 8});
  file.add("rnn.bias_ih_l0", {3}, {9, 10, 11});
  file.add("rnn.bias_hh_l0", {3}, {12, 13, 14});
  expect_becomes(graph, file.table(), source);
  MadeTable joint(WeightFormat::npz);
  joint.add("rnn.weight_ih_l0", {3, 2}, {0, 3, 1, 4, 2, 5});
  joint.add("rnn.weight_hh_l0", {3, 1}, {6, 7, 8});
  joint.add("rnn.bias", {2, 3}, {10, 9, 11, 13, 12, 14});  // Keras: z r h
  expect_becomes(graph, joint.table(), source);
}

TEST(Mapping, NamesInWords) {
  const auto words = [](const std::string& name) { return parse_weight_name(name).stem; };
  EXPECT_THAT(words("module.layer1.0.conv1.weight"), ElementsAre("layer1", "0", "conv1"));
  EXPECT_THAT(words("conv2d_1/kernel:0"), ElementsAre("conv2d_1"));
  EXPECT_EQ(parse_weight_name("bn.moving_variance"), parse_weight_name("BN.running_var"));
  EXPECT_EQ(parse_weight_name("lstm.weight_ih_l0"), parse_weight_name("lstm.weight_ih"));
  EXPECT_EQ(parse_weight_name("lstm.weight_hh_l1_reverse"), parse_weight_name("lstm.weight_hh_reverse_2"));
  EXPECT_EQ(parse_weight_name("arr_0").part, WeightPart::unknown);
}

TEST(Mapping, RulesByHand) {
  EXPECT_EQ(renamed("a.b.weight", "a.*.weight", "x.*.w"), "x.b.w");
  EXPECT_EQ(renamed("blocks.3.q.w", "blocks.*.*.w", "layer*.*.weight"), "layer3.q.weight");
  EXPECT_EQ(renamed("plain", "plain", "other"), "other");
  EXPECT_EQ(renamed("anything", "*", "m.*"), "m.anything");
  EXPECT_EQ(renamed("a.weight", "b.*", "c.*"), std::nullopt);
  EXPECT_EQ(renamed("a.weight.more", "a.*.weight", "c.*"), std::nullopt);
  EXPECT_EQ(renamed("a", "a", "c.*"), std::nullopt);
  EXPECT_EQ(renamed("aa", "aa*aa", "*"), std::nullopt);
}

}  // namespace
}  // namespace coterie
