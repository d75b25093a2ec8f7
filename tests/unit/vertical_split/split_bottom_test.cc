#include "vertical/split/split_bottom.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/part_trainer.h"
#include "tests/support/matchers.h"
#include "vertical/split/split_network.h"

namespace coterie::vertical {
namespace {

constexpr SplitSettings kSettings{.network = SplitNetwork::mlp, .hidden = 4, .cut = 3, .top = 2};

// With biases that are not 0, as after a training.
Model trained(const SplitSettings& settings, uint32_t inputs) {
  const Model fresh = *Model::load(*make_bottom_model(settings, inputs, 5, 7));
  std::vector<float> parameters(fresh.parameters().begin(), fresh.parameters().end());
  for (const TensorInfo& tensor : fresh.graph().tensors) {
    if (tensor.role != TensorRole::parameter) continue;
    const size_t first = tensor.payload_offset / sizeof(float);
    for (size_t i = 0; i < *element_count(tensor.shape); ++i) {
      parameters[first + i] = 0.3f * std::sin(static_cast<float>(first + i + 1));
    }
  }
  return *Model::load(fresh.file_with(parameters));
}

// The definition, in double precision: what the bottom says of devices' inputs.
std::vector<double> said_at_devices(const SplitBottom& bottom, const std::vector<double>& inputs) {
  std::vector<double> values = inputs;
  for (size_t l = 0; l < bottom.layers.size(); ++l) {
    const DenseWeights& layer = bottom.layers[l];
    std::vector<double> next(layer.biases.begin(), layer.biases.end());
    for (uint32_t i = 0; i < layer.inputs; ++i) {
      for (uint32_t unit = 0; unit < layer.units; ++unit)
        next[unit] += values[i] * layer.weights[i * layer.units + unit];
    }
    const bool is_cut = l + 1 == bottom.layers.size();
    for (double& value : next) value = is_cut ? std::tanh(value) : std::max(value, 0.0);
    values = std::move(next);
  }
  return values;
}

// What crosses the cut of one person's inputs.
std::vector<float> said_by(const Bytes& network, const std::vector<float>& inputs, size_t cut) {
  PartTrainer trainer = *PartTrainer::create(*Model::load(network), {.batch_size = 1});
  std::vector<float> said(cut);
  const std::array<std::span<const float>, 1> given{inputs};
  EXPECT_OK(trainer.forward(given, 1, said));
  return said;
}

std::vector<float> values_of(const Model& model, const std::string& name) {
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.name != name) continue;
    const auto values = model.parameters().subspan(tensor.payload_offset / sizeof(float), *element_count(tensor.shape));
    return {values.begin(), values.end()};
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(SplitBottom, SaysOfAValueWhatItSaidAtTheDevices) {
  // At the devices input 1 says whether the first column is missing; the party has them in another order.
  const SplitColumns fitted{
      .is_coded = false,
      .columns = {{.mean = -3, .deviation = 0.5, .cuts = {}}, {.mean = 12, .deviation = 4, .cuts = {}}}};
  const std::vector<std::optional<BottomInput>> columns = {{{.name = "b", .input = 2, .mean = -1, .deviation = 2}},
                                                           {{.name = "a", .input = 0, .mean = 10, .deviation = 5}}};
  for (const uint32_t hidden : {4u, 0u}) {
    SplitSettings settings = kSettings;
    settings.hidden = hidden;
    const auto bottom = read_bottom(settings, trained(settings, 3), 3);
    ASSERT_OK(bottom);
    const Model network = *Model::load(*make_feature_network(settings, {.columns = 2}, 1));
    const auto placed = place_bottom(network, 0, *bottom, columns, fitted);
    ASSERT_OK(placed);
    const double a = 19, b = -2.25;
    const std::vector<double> expected = said_at_devices(*bottom, {(a - 10) / 5, 0, (b + 1) / 2});
    const std::vector<float> said =
        said_by(*placed, {static_cast<float>((b + 3) / 0.5), static_cast<float>((a - 12) / 4)}, settings.cut);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(said[i], expected[i], 1e-6) << hidden << ": " << i;
  }
}

TEST(SplitBottom, LeavesAColumnThatTheDevicesLackedAsItWas) {
  const auto bottom = read_bottom(kSettings, trained(kSettings, 1), 1);
  ASSERT_OK(bottom);
  const SplitColumns fitted{.is_coded = false, .columns = {{}, {}}};
  const Model network = *Model::load(*make_label_network(kSettings, {.columns = 2}, 1));
  const auto placed =
      place_bottom(network, 1, *bottom, std::vector<std::optional<BottomInput>>{{}, BottomInput{}}, fitted);
  ASSERT_OK(placed);
  const Model part = *Model::load(*placed);
  // The scale is the same, so that weights are as they were.
  const std::vector<float> before = values_of(network, "dense1.weight"), after = values_of(part, "dense1.weight");
  EXPECT_EQ(std::vector(after.begin(), after.begin() + 4), std::vector(before.begin(), before.begin() + 4));
  EXPECT_EQ(std::vector(after.begin() + 4, after.end()), bottom->layers[0].weights);
  EXPECT_EQ(values_of(part, "dense1.bias"), bottom->layers[0].biases);
  EXPECT_EQ(values_of(part, "dense2.weight"), bottom->layers[1].weights);
  EXPECT_EQ(values_of(part, "dense3.weight"), values_of(network, "dense3.weight")) << "the top";
}

TEST(SplitBottom, TakesAColumnOfOneValueForWhatItWas) {
  const auto bottom = read_bottom(kSettings, trained(kSettings, 2), 2);
  ASSERT_OK(bottom);
  const double infinite = std::numeric_limits<double>::infinity();
  // The first never varied at the devices, the second does not at the party, where it is 7.
  const SplitColumns fitted{
      .is_coded = false,
      .columns = {{.mean = 5, .deviation = 2, .cuts = {}}, {.mean = 7, .deviation = infinite, .cuts = {}}}};
  const std::vector<std::optional<BottomInput>> columns = {{{.name = "a", .input = 0, .mean = 1, .deviation = 0}},
                                                           {{.name = "b", .input = 1, .mean = 4, .deviation = 2}}};
  const Model network = *Model::load(*make_feature_network(kSettings, {.columns = 2}, 1));
  const auto placed = place_bottom(network, 0, *bottom, columns, fitted);
  ASSERT_OK(placed);
  const std::vector<double> expected = said_at_devices(*bottom, {0, (7.0 - 4) / 2});
  const std::vector<float> said = said_by(*placed, {1.5f, 0}, kSettings.cut);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(said[i], expected[i], 1e-6) << i;
}

TEST(SplitBottom, NamesTheLayerThatDiffers) {
  const auto refuses = [](const SplitSettings& settings, const Bytes& file, uint32_t inputs, std::string_view words) {
    const auto bottom = read_bottom(settings, *Model::load(file), inputs);
    EXPECT_ERROR(bottom, ErrorCode::invalid_argument, words);
    if (!bottom) EXPECT_EQ(bottom.error().reason(), "bottom_differs");
  };
  const Bytes file = *make_bottom_model(kSettings, 3, 5, 1);
  refuses(kSettings, file, 2, "its input: expected 2 numbers");
  SplitSettings other = kSettings;
  other.hidden = 6;
  refuses(other, file, 3, "hidden layer: expected 3 to 6 numbers, is 3 to 4");
  other = kSettings;
  other.cut = 2;
  refuses(other, file, 3, "layer of the cut: expected 4 to 2 numbers, is 4 to 3");
  other = kSettings;
  other.hidden = 0;
  refuses(other, file, 3, "layer of the cut: expected 3 to 3 numbers, is 3 to 4");
  other = kSettings;
  other.network = SplitNetwork::two_tower;
  refuses(other, file, 3, "the job's network is two_tower");

  ModelBuilder relus("m", {3}, 1);
  refuses(kSettings,
          *relus.finish(relus.dense(relus.relu(relus.dense(relus.relu(relus.dense(relus.input(), 4)), 3)), 5)), 3,
          "behind the layer of the cut: expected tanh, is relu");
  ModelBuilder unbiased("m", {3}, 1);
  refuses(kSettings, *unbiased.finish(unbiased.dense(unbiased.input(), 4, false)), 3, "hidden layer: has no bias");
  ModelBuilder shared("m", {3}, 1);
  const TensorId x = shared.input();
  refuses(kSettings, *shared.finish(shared.add(shared.dense(x, 4), shared.dense(x, 4))), 3,
          "hidden layer: two ops read what is in front of it");
  ModelBuilder two("m", {3}, 1);
  const TensorId second = two.input("second", {3});
  refuses(kSettings, *two.finish(two.dense(two.add(two.input(), second), 4)), 3, "it has more inputs than one");
}

TEST(SplitBottom, NamesTheColumnWhoseScaleLeavesTheRangeOfFloats) {
  const auto bottom = read_bottom(kSettings, trained(kSettings, 1), 1);
  ASSERT_OK(bottom);
  const SplitColumns fitted{.is_coded = false, .columns = {{.mean = 0, .deviation = 1e30, .cuts = {}}}};
  const Model network = *Model::load(*make_feature_network(kSettings, {.columns = 1}, 1));
  const std::vector<std::optional<BottomInput>> columns = {
      {{.name = "income", .input = 0, .mean = 0, .deviation = 1e-30}}};
  const auto placed = place_bottom(network, 0, *bottom, columns, fitted);
  EXPECT_ERROR(placed, ErrorCode::invalid_argument, "of the column income leave the range of floats");
  EXPECT_EQ(placed.error().reason(), "bottom_overflows");
}

}  // namespace
}  // namespace coterie::vertical
