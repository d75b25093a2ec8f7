// Models whose weights are stored as int8: what is loaded is scale times value, and what is no such file is refused.
#include "device_sdk/runtime/stored_model_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/seal.h"
#include "device_sdk/runtime/stored_weights.h"
#include "proto/codec/codec.h"
#include "proto/codec/stored_integers.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using namespace test;

Model sample() {
  ModelBuilder build("sample", {6, 6, 2}, 3);
  TensorId x = build.relu(build.batch_norm(build.conv2d(build.input(), {.filters = 5, .kernel = 3, .pad = 1})));
  Result<Bytes> file = build.finish(build.dense(build.flatten(x), 40));
  EXPECT_OK(file);
  return *Model::load(std::move(*file));
}

uint32_t tensor_named(const Model& model, const std::string& name) {
  for (uint32_t i = 0; i < model.graph().tensors.size(); ++i) {
    if (model.graph().tensors[i].name == name) return i;
  }
  ADD_FAILURE() << "no tensor " << name;
  return 0;
}

// conv1.weight and dense1.weight as int8 by their last dimension: value (i * 37 % 255) - 127, scale (channel + 1) / 64.
std::vector<Int8Weights> sample_weights(const Model& model) {
  std::vector<Int8Weights> all;
  for (const char* const name : {"conv1.weight", "dense1.weight"}) {
    const uint32_t tensor = tensor_named(model, name);
    const Shape& shape = model.graph().tensors[tensor].shape;
    Int8Weights weights{.form = {.tensor = tensor, .axis = static_cast<uint32_t>(shape.size() - 1), .scales = {}},
                        .values = {}};
    for (int64_t c = 0; c < shape.back(); ++c) weights.form.scales.push_back(static_cast<float>(c + 1) / 64);
    for (uint64_t i = 0; i < elements(shape); ++i) {
      weights.values.push_back(static_cast<int8_t>(static_cast<int>(i * 37 % 255) - 127));
    }
    all.push_back(std::move(weights));
  }
  std::ranges::sort(all, {}, [](const Int8Weights& weights) { return weights.form.tensor; });
  return all;
}

TEST(StoredModelFile, ExpandsToScaleTimesValue) {
  const Model model = sample();
  const std::vector<Int8Weights> weights = sample_weights(model);
  const Bytes stored = store_as_int8(model, weights);
  EXPECT_LT(stored.size(), model.file().size() * 2 / 5);
  const Result<Seal> seal = check_seal(stored);
  ASSERT_OK(seal);
  EXPECT_EQ(*seal, Seal::good);
  Result<Bytes> expanded = expand_model(stored);
  ASSERT_OK(expanded);
  ASSERT_OK(check_seal(*expanded));
  const Result<Model> loaded = Model::load(std::move(*expanded));
  ASSERT_OK(loaded);
  EXPECT_EQ(loaded->graph().ops, model.graph().ops);
  for (uint32_t i = 0; i < model.graph().tensors.size(); ++i) {
    const TensorInfo& tensor = loaded->graph().tensors[i];
    if (!has_payload(tensor.role)) continue;
    const uint64_t count = elements(tensor.shape);
    const auto seen = loaded->parameters().subspan(tensor.payload_offset / sizeof(float), count);
    const auto found = std::ranges::find_if(weights, [&](const Int8Weights& w) { return w.form.tensor == i; });
    if (found == weights.end()) {
      const uint64_t first = model.graph().tensors[i].payload_offset / sizeof(float);
      EXPECT_TRUE(std::ranges::equal(seen, model.parameters().subspan(first, count))) << tensor.name;
      continue;
    }
    const auto channels = static_cast<uint64_t>(tensor.shape.back());
    for (uint64_t e = 0; e < count; ++e) {
      ASSERT_EQ(seen[e], found->form.scales[e % channels] * static_cast<float>(found->values[e])) << tensor.name;
    }
  }
}

// As readers of before do: by the tensor's name.
TEST(StoredModelFile, IsRefusedWhereItIsNotExpanded) {
  const Model model = sample();
  const Bytes stored = store_as_int8(model, sample_weights(model));
  EXPECT_ERROR(Model::load(stored), ErrorCode::malformed, "tensor conv1.weight");
  EXPECT_ERROR(Model::load(stored), ErrorCode::malformed, "is stored as int8");
}

TEST(StoredModelFile, OtherFilesComeBackAsTheyAre) {
  const Model model = sample();
  const Bytes plain(model.file().begin(), model.file().end());
  EXPECT_EQ(*expand_model(plain), plain);
  const Bytes nothing = {1, 2, 3};
  EXPECT_EQ(*expand_model(nothing), nothing);
}

TEST(StoredModelFile, LiesOfTheHeader) {
  const Model model = sample();
  const std::vector<Int8Weights> good = sample_weights(model);
  const auto refused = [&](std::vector<Int8Weights> weights, std::string_view words) {
    EXPECT_ERROR(expand_model(store_as_int8(model, weights)), ErrorCode::malformed, words);
  };
  for (const float scale : {0.0f, -1.0f, std::numeric_limits<float>::infinity(), std::nanf(""), 3e37f}) {
    std::vector<Int8Weights> weights = good;
    weights[0].form.scales[1] = scale;
    refused(weights, "conv1.weight has a scale that is not above 0 and finite");
  }
  std::vector<Int8Weights> few = good;
  few[0].form.scales.pop_back();
  refused(few, "does not have a scale for each channel");
  std::vector<Int8Weights> axis = good;
  axis[0].form.axis = 4;
  refused(axis, "does not have a scale for each channel");
  std::vector<Int8Weights> least = good;
  least[1].values[7] = -128;
  refused(least, "tensor dense1.weight has -128 among its integers of 8 bits");
}

// dense1.weight as integers of so many bits: each that there is.
std::vector<StoredWeights> packed_weights(const Model& model, uint32_t bits) {
  const uint32_t tensor = tensor_named(model, "dense1.weight");
  const Shape& shape = model.graph().tensors[tensor].shape;
  StoredWeights weights{.form = {.tensor = tensor, .axis = 1, .scales = {}, .bits = bits}, .values = {}};
  for (int64_t c = 0; c < shape.back(); ++c) weights.form.scales.push_back(static_cast<float>(c + 1) / 64);
  const int most = stored_level_max(bits);
  for (uint64_t i = 0; i < elements(shape); ++i) {
    const int value = static_cast<int>(i * 37 % static_cast<uint64_t>(2 * most + 1)) - most;
    weights.values.push_back(static_cast<int16_t>(bits == 1 ? (i % 3 == 0 ? 1 : -1) : value));
  }
  return {std::move(weights)};
}

TEST(StoredModelFile, EachWidthTakesItsBitsAndComesBack) {
  const Model model = sample();
  const size_t int8_bytes = store_weights(model, packed_weights(model, 8)).size();
  for (uint32_t bits = kStoredBitsMin; bits <= kStoredBitsMax; ++bits) {
    const std::vector<StoredWeights> weights = packed_weights(model, bits);
    const Bytes stored = store_weights(model, weights);
    // 7200 weights; a table says so much or so little more of the width.
    EXPECT_NEAR(static_cast<double>(stored.size()) - static_cast<double>(int8_bytes), 900.0 * bits - 7200, 128) << bits;
    const Result<StoredModel> decoded = decode_stored_model(stored);
    ASSERT_OK(decoded) << bits;
    ASSERT_EQ(decoded->forms.weights.size(), 1u);
    EXPECT_EQ(decoded->forms.weights[0], weights[0].form);
    EXPECT_EQ(stored_integers(*decoded, decoded->forms.weights[0]), weights[0].values) << bits;
    Result<Bytes> expanded = expand_model(stored);
    ASSERT_OK(expanded) << bits;
    const Result<Model> loaded = Model::load(std::move(*expanded));
    ASSERT_OK(loaded);
    const TensorInfo& tensor = loaded->graph().tensors[weights[0].form.tensor];
    for (uint64_t e = 0; e < weights[0].values.size(); ++e) {
      ASSERT_EQ(loaded->parameters()[tensor.payload_offset / sizeof(float) + e],
                weights[0].form.scales[e % 40] * static_cast<float>(weights[0].values[e]));
    }
    EXPECT_ERROR(Model::load(stored), ErrorCode::malformed,
                 bits == 8 ? "dense1.weight is stored as int8" : "dense1.weight is stored as packed integers");
  }
}

TEST(StoredModelFile, LiesOfPackedIntegers) {
  const Model model = sample();
  const auto refused = [&](const std::vector<StoredWeights>& weights, ErrorCode code, std::string_view words) {
    EXPECT_ERROR(expand_model(store_weights(model, weights)), code, words);
  };
  std::vector<StoredWeights> weights = packed_weights(model, 4);
  weights[0].values[7] = -8;
  refused(weights, ErrorCode::malformed, "tensor dense1.weight has -8 among its integers of 4 bits");
  weights = packed_weights(model, 16);
  weights[0].form.scales[1] = 2e34f;  // times 32767 it is no float
  refused(weights, ErrorCode::malformed, "a scale that is not above 0 and finite");
  // 17 integers of 3 bits: the last byte has five bits behind them.
  for (uint8_t last : {0x00, 0x10, 0x80}) {
    Bytes packed(7);
    packed[6] = last;
    EXPECT_EQ(check_integers(packed, 3, 17).has_value(), last == 0) << int{last};
  }
  // More than a piece of them: the one that is wrong is in the last piece.
  std::vector<int16_t> many(10'001, 1);
  Bytes packed(10'001 * 2 / 8 + 1);
  pack_integers(many, 2, packed);
  EXPECT_OK(check_integers(packed, 2, many.size()));
  packed[2499] = 0x80;
  EXPECT_ERROR(check_integers(packed, 2, many.size()), ErrorCode::malformed, "-2 among its integers of 2 bits");
}

// A few bytes that say they stand for more than 16 GiB are refused before anything is made of them.
TEST(StoredModelFile, WhatWouldBeTooLargeIsRefused) {
  const uint32_t tensor = tensor_named(sample(), "dense1.weight");
  ModelGraph graph = sample().graph();
  graph.tensors[tensor].shape = {int64_t{1} << 27, 40};
  const StoredForms forms{.weights = {{.tensor = tensor, .axis = 1, .scales = std::vector<float>(40, 1.0f), .bits = 1}},
                          .grids = {}};
  const uint64_t payload_bytes = (uint64_t{1} << 27) * 40 / 8 + (1 << 20);
  const Bytes head = encode_stored_head(graph, forms, payload_bytes);
  const Result<Prelude> prelude = parse_prelude(head);
  ASSERT_OK(prelude);
  // Its payload is not there: the header alone is judged.
  EXPECT_ERROR(decode_stored_head(*prelude, ByteView(head).subspan(kPreludeBytes, prelude->header_bytes)),
               ErrorCode::too_large, "parameter dense1.weight takes the model over 16 GiB");
}

TEST(StoredModelFile, EveryPrefixIsRefusedAndNoMutationBreaksIt) {
  const Model model = sample();
  std::vector<StoredWeights> weights = packed_weights(model, 3);
  const Int8Weights first = sample_weights(model)[0];
  weights.insert(weights.begin(), {.form = first.form, .values = {first.values.begin(), first.values.end()}});
  const Bytes stored = store_weights(model, weights);
  for (size_t size = kPreludeBytes; size < stored.size(); ++size) {
    ASSERT_FALSE(expand_model(Bytes(stored.begin(), stored.begin() + static_cast<ptrdiff_t>(size)))) << size;
  }
  std::mt19937_64 chance(5);
  for (int round = 0; round < 2000; ++round) {
    Bytes damaged = stored;
    // The header and the first bytes of the payload, where it can go wrong in more ways than a changed weight.
    for (uint64_t i = 0; i <= chance() % 3; ++i) damaged[chance() % 2048] = static_cast<uint8_t>(chance());
    Result<Bytes> expanded = expand_model(damaged);
    if (!expanded) {
      ASSERT_NE(expanded.error().code(), ErrorCode::internal);
      continue;
    }
    ASSERT_LE(expanded->size(), 32 * stored.size() + 4096);
    (void)Model::load(std::move(*expanded)).has_value();
  }
}

}  // namespace
}  // namespace coterie
