#include "device_sdk/runtime/lora.h"

#include <gmock/gmock.h>

#include "device_sdk/runtime/predictor.h"
#include "device_sdk/runtime/trainer.h"
#include "proto/messages/lora_pairs.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// A 1x1 convolution with a stride, an ordinary one, and two layers that share a weight.
Model net() {
  ModelBuilder build("net", {6, 6, 4}, 3);
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 6, .kernel = 3, .pad = 1}));
  x = build.relu(build.conv2d(x, {.filters = 8, .kernel = 1, .stride = 2}));
  x = build.relu(build.dense(build.flatten(x), 7));
  Prng prng(4);
  std::vector<float> values(49);
  for (float& value : values) value = static_cast<float>(prng.normal() * 0.4);
  const TensorId shared = build.parameter("shared.weight", {7, 7}, values);
  x = build.relu(build.op(OpKind::dense, {x, shared}));
  x = build.op(OpKind::dense, {x, shared});
  return load_or_die(build.finish(build.dense(x, 5)));
}

std::vector<float> outputs_of(const Model& model, const Examples& examples) {
  Result<Predictor> predictor = Predictor::create(model, 4);
  EXPECT_OK(predictor);
  std::vector<float> outputs(examples.size() * 5);
  const std::span<const float> inputs[] = {examples.values()};
  EXPECT_OK(predictor->run(inputs, examples.size(), outputs));
  return outputs;
}

TEST(Lora, BeginsAsTheModelItAdapts) {
  const Model model = net();
  const Model adapted = load_or_die(add_lora(model, {.rank = 2, .pattern = "*.weight"}, 1));
  const Examples examples(6, 144, 5);
  EXPECT_EQ(outputs_of(adapted, examples), outputs_of(model, examples));
  EXPECT_EQ(adapted.digest(), load_or_die(add_lora(model, {.rank = 2, .pattern = "*.weight"}, 1)).digest());
}

TEST(Lora, TrainsItsCompanionsAloneAndMergesIntoTheSamePredictions) {
  const Model model = net();
  const LoraSettings settings{.rank = 3, .alpha = 6, .pattern = "*.weight"};
  const Model adapted = load_or_die(add_lora(model, settings, 1));
  Examples examples(24, 144, 5);
  TrainOptions options;
  options.batch_size = 8;
  options.epochs = 5;
  options.optimizer.learning_rate = 0.05f;
  Result<Trainer> trainer = Trainer::create(adapted, options, examples);
  ASSERT_OK(trainer);
  while (!trainer->finished()) ASSERT_OK(trainer->step());
  const std::vector<float> trained(trainer->parameters().begin(), trainer->parameters().end());
  size_t companions = 0;
  for (const TensorInfo& tensor : adapted.graph().tensors) {
    if (!has_payload(tensor.role)) continue;
    const size_t first = tensor.payload_offset / sizeof(float);
    bool has_changed = false;
    for (size_t i = first; i < first + *element_count(tensor.shape); ++i) {
      has_changed = has_changed || trained[i] != adapted.parameters()[i];
    }
    const bool is_companion = tensor.name.find(".lora_") != std::string::npos;
    EXPECT_EQ(has_changed, is_companion) << tensor.name;
    companions += is_companion;
  }
  EXPECT_EQ(companions, 8u);  // two each: the 1x1 convolution, a dense, the shared weight, the last dense
  const Model merged = load_or_die(model.file_with(merge_lora(model, settings, adapted, trained)));
  const std::vector<float> expected = outputs_of(load_or_die(adapted.file_with(trained)), examples);
  const std::vector<float> seen = outputs_of(merged, examples), before = outputs_of(model, examples);
  double moved = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    EXPECT_NEAR(seen[i], expected[i], 1e-5 * std::max(1.0f, std::fabs(expected[i]))) << i;
    moved = std::max<double>(moved, std::fabs(seen[i] - before[i]));
  }
  EXPECT_GT(moved, 1e-2);
}

TEST(Lora, NamesAPatternThatMatchesNothing) {
  const Result<Bytes> file = add_lora(net(), {.pattern = "conv1.weight"}, 1);  // 3x3
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::invalid_argument);
  EXPECT_THAT(file.error().message(), HasSubstr("conv1.weight matches no weight"));
}

TEST(Lora, LeavesAWeightAloneThatAnotherOpReadsToo) {
  ModelBuilder build("tied", {144}, 3);
  TensorId x = build.relu(build.dense(build.input(), 7));
  const TensorId shared = build.parameter("shared.weight", {7, 7}, std::vector<float>(49, 0.1f));
  x = build.relu(build.op(OpKind::dense, {x, shared}));
  x = build.op(OpKind::matmul, {x, shared}, default_attributes(OpKind::matmul));
  const Model model = load_or_die(build.finish(build.dense(x, 5)));
  const LoraSettings settings{.rank = 3, .alpha = 6, .pattern = "*.weight"};
  const Model adapted = load_or_die(add_lora(model, settings, 1));
  Examples examples(24, 144, 5);
  TrainOptions options;
  options.batch_size = 8;
  options.epochs = 5;
  options.optimizer.learning_rate = 0.05f;
  Result<Trainer> trainer = Trainer::create(adapted, options, examples);
  ASSERT_OK(trainer);
  while (!trainer->finished()) ASSERT_OK(trainer->step());
  const std::vector<float> trained(trainer->parameters().begin(), trainer->parameters().end());
  const Model merged = load_or_die(model.file_with(merge_lora(model, settings, adapted, trained)));
  const std::vector<float> expected = outputs_of(load_or_die(adapted.file_with(trained)), examples);
  const std::vector<float> seen = outputs_of(merged, examples);
  for (size_t i = 0; i < seen.size(); ++i) {
    EXPECT_NEAR(seen[i], expected[i], 1e-5 * std::max(1.0f, std::fabs(expected[i]))) << i;
  }
}

TEST(Lora, RefusesCompanionsThatAreMoreThanTheModel) {
  for (const std::optional<uint64_t> seed : {std::optional<uint64_t>(), std::optional<uint64_t>(1)}) {
    EXPECT_ERROR(add_lora(net(), {.rank = kLoraRankMax, .fixed_a_seed = seed}, 1), ErrorCode::invalid_argument,
                 "companions of rank 4096");
  }
}

TEST(Lora, TrainsBAloneWhereAIsFixed) {
  const Model model = net();
  const LoraSettings settings{.rank = 3, .alpha = 6, .pattern = "*.weight", .fixed_a_seed = 11};
  const Model adapted = load_or_die(add_lora(model, settings, 1));
  EXPECT_EQ(adapted.digest(), load_or_die(add_lora(model, settings, 2)).digest()) << "its own seed decides";
  Examples examples(24, 144, 5);
  EXPECT_EQ(outputs_of(adapted, examples), outputs_of(model, examples));
  TrainOptions options;
  options.batch_size = 8;
  Result<Trainer> trainer = Trainer::create(adapted, options, examples);
  ASSERT_OK(trainer);
  while (!trainer->finished()) ASSERT_OK(trainer->step());
  const std::vector<LoraPair> pairs = *lora_pairs(model.graph(), settings);
  const std::vector<float> a = draw_lora_a(pairs, settings);
  size_t drawn = 0;
  for (const LoraPair& pair : pairs) {
    const std::string name = model.graph().tensors[pair.weight].name;
    for (const TensorInfo& tensor : adapted.graph().tensors) {
      const auto values = trainer->parameters().subspan(tensor.payload_offset / sizeof(float));
      if (tensor.name == name + ".lora_a") {
        EXPECT_TRUE(std::equal(values.begin(), values.begin() + static_cast<ptrdiff_t>(pair.a_values()),
                               a.begin() + static_cast<ptrdiff_t>(drawn)));
      } else if (tensor.name == name + ".lora_b") {
        EXPECT_TRUE(std::any_of(values.begin(), values.begin() + static_cast<ptrdiff_t>(pair.b_values()),
                                [](float value) { return value != 0; }))
            << name;
      }
    }
    drawn += pair.a_values();
  }
  EXPECT_EQ(drawn, a.size());
}

TEST(Lora, IsReadFromText) {
  EXPECT_EQ(*parse_lora("rank=8:*.weight"), (LoraSettings{.rank = 8, .alpha = 8, .pattern = "*.weight"}));
  EXPECT_EQ(*parse_lora("rank=4,alpha=16:a:b"), (LoraSettings{.rank = 4, .alpha = 16, .pattern = "a:b"}));
  EXPECT_EQ(*parse_lora("rank=4,seed=9:*"), (LoraSettings{.rank = 4, .alpha = 4, .fixed_a_seed = 9}));
  EXPECT_EQ(*parse_lora("rank=4,alpha=2,seed=0:*"), (LoraSettings{.rank = 4, .alpha = 2, .fixed_a_seed = 0}));
  for (const char* text : {"", "8:*", "rank=8,:*", "rank=8,seed=:*", "rank=8,seed=-1:*", "rank=:*", "rank=8",
                           "rank=8:", "rank=0:*", "rank=8,beta=1:*", "rank=8,alpha=0:*", "rank=5000:*"}) {
    const Result<LoraSettings> settings = parse_lora(text);
    ASSERT_FALSE(settings) << text;
    EXPECT_THAT(settings.error().message(), EndsWith(std::string("is ") + text));
  }
}

}  // namespace
}  // namespace coterie::test
