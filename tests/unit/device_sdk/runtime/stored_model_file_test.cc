// Models whose weights are stored as int8: what is loaded is scale times value, and what is no such file is refused.
#include "device_sdk/runtime/stored_model_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/seal.h"
#include "proto/codec/codec.h"
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
  refused(least, "tensor dense1.weight has -128 among its int8");
}

TEST(StoredModelFile, EveryPrefixIsRefusedAndNoMutationBreaksIt) {
  const Model model = sample();
  const Bytes stored = store_as_int8(model, sample_weights(model));
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
    ASSERT_LE(expanded->size(), 4 * stored.size() + 4096);
    (void)Model::load(std::move(*expanded)).has_value();
  }
}

}  // namespace
}  // namespace coterie
