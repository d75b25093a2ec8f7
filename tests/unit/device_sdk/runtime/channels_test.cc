#include "device_sdk/runtime/channels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

TEST(ParseChannels, ReadsRangesAndParts) {
  EXPECT_EQ(*parse_channels("conv*:0-15"), (ChannelUpdate{"conv*", 0, 15, 0}));
  EXPECT_EQ(*parse_channels("a:b.weight:3-3"), (ChannelUpdate{"a:b.weight", 3, 3, 0}));
  EXPECT_EQ(*parse_channels("*:25%"), (ChannelUpdate{"*", 0, 0, 0.25}));
  for (const char* text : {"", "conv", ":0-1", "conv:", "conv:3", "conv:4-3", "conv:-3", "conv:0-", "conv:0%",
                           "conv:101%", "conv:nan%", "conv:x-y", "conv:-1%"}) {
    EXPECT_ERROR(parse_channels(text), ErrorCode::invalid_argument, "must be PATTERN:FIRST-LAST") << text;
  }
}

// A convolution, a depthwise one, batch norm with its own scale and bias, a dense layer, and a weight two layers share.
Model net() {
  ModelBuilder build("channels", {8, 8, 2}, 3);
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 8, .kernel = 3, .pad = 1}));
  x = build.batch_norm(x);
  x = build.relu(build.conv2d(x, {.filters = 8, .kernel = 3, .groups = 8}));
  x = build.dense(build.global_average_pool2d(x), 6);
  const TensorId shared = build.uniform("shared", {6, 6}, 0.8);
  x = build.op(OpKind::dense, {build.relu(build.op(OpKind::dense, {x, shared})), shared});
  return load_or_die(build.finish(build.dense(x, 4)));
}

TrainOptions plain(OptimizerKind kind = OptimizerKind::sgd) {
  TrainOptions options;
  options.batch_size = 8;
  options.optimizer = {.kind = kind, .learning_rate = kind == OptimizerKind::sgd ? 0.1f : 0.01f};
  options.seed = 5;
  options.epochs = 10;
  return options;
}

std::vector<float> delta_after(const Model& model, const TrainOptions& options, int steps) {
  Examples examples(8, 128, 4);
  Result<Trainer> trainer = Trainer::create(model, options, examples);
  EXPECT_OK(trainer);
  if (!trainer) return std::vector<float>(model.value_count());
  for (int i = 0; i < steps; ++i) EXPECT_OK(trainer->step());
  std::vector<float> delta(model.value_count());
  trainer->delta(delta);
  return delta;
}

// After one step, the trained channels have moved as they do without the option, and the others not at all.
void expect_only(const Model& model, const std::vector<float>& sparse, const std::vector<float>& dense,
                 const std::vector<ChannelRange>& ranges) {
  for (size_t t = 0; t < model.graph().tensors.size(); ++t) {
    const TensorInfo& tensor = model.graph().tensors[t];
    if (tensor.role != TensorRole::parameter) continue;
    const size_t first = tensor.payload_offset / sizeof(float), width = static_cast<size_t>(tensor.shape.back());
    for (size_t i = 0; i < *element_count(tensor.shape); ++i) {
      const size_t channel = i % width;
      const bool is_trained =
          ranges[t].is_all() || (channel >= ranges[t].first && channel < ranges[t].first + ranges[t].count);
      const float expected = is_trained ? dense[first + i] : 0;
      ASSERT_NEAR(sparse[first + i], expected, is_trained ? 1e-6 + 1e-5 * std::fabs(expected) : 0)
          << tensor.name << " " << i;
    }
  }
}

TEST(Channels, TrainedAloneMoveAsTheyWouldAndTheOthersStay) {
  const Model model = net();
  const std::vector<float> dense = delta_after(model, plain(), 1);
  for (const char* text :
       {"*:0-1", "*:2-3", "*.weight:1-3", "*.bias:25%", "conv*:0-4", "shared:5-5", "*:50%", "batch*:3-6"}) {
    SCOPED_TRACE(text);
    TrainOptions options = plain();
    options.channels = {*parse_channels(text)};
    const std::vector<ChannelRange> ranges = *channel_ranges(model.graph(), options.channels);
    expect_only(model, delta_after(model, options, 1), dense, ranges);
    options.micro_batch_size = 8;  // through gradients that are kept
    options.clip_value = 1e6f;
    expect_only(model, delta_after(model, options, 1), dense, ranges);
  }
}

TEST(Channels, KeepValuesAndStateOfTheOthersUnderEveryOptimizer) {
  const Model model = net();
  for (uint8_t kind = 1; to_string(static_cast<OptimizerKind>(kind)) != "unknown"; ++kind) {
    SCOPED_TRACE(to_string(static_cast<OptimizerKind>(kind)));
    TrainOptions options = plain(static_cast<OptimizerKind>(kind));
    options.optimizer.momentum = 0.9f;
    options.optimizer.weight_decay = 0.1f;  // of what is trained, too
    options.channels = {*parse_channels("*:1-2")};
    const std::vector<float> delta = delta_after(model, options, 3);
    for (const TensorInfo& tensor : model.graph().tensors) {
      if (tensor.role != TensorRole::parameter) continue;
      const auto width = static_cast<size_t>(tensor.shape.back());
      const size_t first = tensor.payload_offset / sizeof(float);
      double moved = 0;
      for (size_t i = 0; i < *element_count(tensor.shape); ++i) {
        if (i % width == 1 || i % width == 2) moved += std::fabs(delta[first + i]);
        else ASSERT_EQ(delta[first + i], 0) << tensor.name << " " << i;
      }
      EXPECT_GT(moved, 0) << tensor.name;
    }
  }
}

TEST(Channels, OfTheFirstMatchingPatternCount) {
  const Model model = net();
  const std::vector<ChannelRange> ranges =
      *channel_ranges(model.graph(), {*parse_channels("conv1.*:1-2"), *parse_channels("conv*:0-0")});
  std::map<std::string, ChannelRange> by_name;
  for (size_t i = 0; i < ranges.size(); ++i) by_name[model.graph().tensors[i].name] = ranges[i];
  EXPECT_EQ(by_name.at("conv1.weight"), (ChannelRange{1, 2}));
  EXPECT_EQ(by_name.at("conv2.weight"), (ChannelRange{0, 1}));
  EXPECT_TRUE(by_name.at("dense1.weight").is_all());
}

TEST(Channels, NeedLessMemoryForGradients) {
  ModelBuilder build("wide", {256}, 1);
  const Model model = load_or_die(build.finish(build.dense(build.relu(build.dense(build.input(), 512)), 4)));
  TrainOptions options = plain();
  const uint64_t all = Trainer::plan(model, options, 8)->planned_bytes;
  options.channels = {*parse_channels("dense1.*:0-15")};
  // The whole gradient of the first layer is 512 KiB, that of 16 channels 16 KiB, and the weights they update as much.
  EXPECT_LT(Trainer::plan(model, options, 8)->planned_bytes, all / 4);
}

TEST(Channels, ThatAreNotThereAreRefused) {
  const Model model = net();
  const auto refusal = [&](const char* text) {
    TrainOptions options = plain();
    options.channels = {*parse_channels(text)};
    return Trainer::plan(model, options, 8);
  };
  EXPECT_ERROR(refusal("conv1.weight:0-8"), ErrorCode::invalid_argument, "conv1.weight has 8 channels, there is no 8");
  EXPECT_ERROR(refusal("nothing*:0-1"), ErrorCode::invalid_argument, "nothing* matches no parameter");
  TrainOptions options = plain();
  options.channels = {{.pattern = "*", .first = 2, .last = 1}};
  EXPECT_ERROR(Trainer::plan(model, options, 8), ErrorCode::invalid_argument, "first to last");
  options.channels = {{.pattern = "*", .fraction = std::nan("")}};
  EXPECT_ERROR(Trainer::plan(model, options, 8), ErrorCode::invalid_argument, "first to last");
}

}  // namespace
}  // namespace coterie::test
