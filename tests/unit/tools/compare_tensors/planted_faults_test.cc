// A fault is planted in one op of a copy of a model: the comparison must name that op.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "tests/support/matchers.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"
#include "tools/compare_tensors/align_layers.h"
#include "tools/compare_tensors/axis_order.h"
#include "tools/compare_tensors/compare_values.h"
#include "tools/compare_tensors/tensor_comparison.h"
#include "tools/model/model_output.h"

namespace coterie::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kTolerance = 1e-4;
constexpr uint32_t kCount = 4;

// The parameters of a convolution with a batch norm behind it.
struct Folding {
  std::vector<float> weight, bias, scale, shift, mean, variance;
  static constexpr size_t kChannels = 4, kTaps = 9;
  static constexpr float kNormEpsilon = 1e-5f;

  Folding() {
    Prng prng(21);
    const auto drawn = [&](size_t count, double low, double high) {
      std::vector<float> values(count);
      for (float& value : values) value = static_cast<float>(prng.uniform(low, high));
      return values;
    };
    weight = drawn(kTaps * kChannels, -1, 1);
    bias = drawn(kChannels, -1, 1);
    scale = drawn(kChannels, 0.5, 2);
    shift = drawn(kChannels, -1, 1);
    mean = drawn(kChannels, -1, 1);
    variance = drawn(kChannels, 0.001, 0.01);
  }
};

enum class Norm { apart, folded, folded_without_mean, folded_with_another_epsilon };

Model net(Norm norm = Norm::apart) {
  Folding f;
  if (norm != Norm::apart) {
    const float epsilon = norm == Norm::folded_with_another_epsilon ? 1e-3f : Folding::kNormEpsilon;
    for (size_t c = 0; c < Folding::kChannels; ++c) {
      const float gain = f.scale[c] / std::sqrt(f.variance[c] + epsilon);
      for (size_t tap = 0; tap < Folding::kTaps; ++tap) f.weight[tap * Folding::kChannels + c] *= gain;
      f.bias[c] = (f.bias[c] - (norm == Norm::folded_without_mean ? 0 : f.mean[c])) * gain + f.shift[c];
    }
  }
  ModelBuilder build("net", {8, 8, 1}, 4);
  const TensorId weight = build.parameter("conv_a.weight", {3, 3, 1, Folding::kChannels}, f.weight);
  const TensorId bias = build.parameter("conv_a.bias", {Folding::kChannels}, f.bias);
  Conv2dAttributes padded{.pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1};
  TensorId x = build.op(OpKind::conv2d, {build.input(), weight, bias}, padded, "conv_a");
  if (norm == Norm::apart) {
    x = build.op(OpKind::batch_norm,
                 {x, build.parameter("norm.scale", {Folding::kChannels}, f.scale),
                  build.parameter("norm.shift", {Folding::kChannels}, f.shift),
                  build.state("norm.mean", {Folding::kChannels}, f.mean),
                  build.state("norm.variance", {Folding::kChannels}, f.variance)},
                 NormAttributes{.epsilon = Folding::kNormEpsilon}, "norm");
  }
  x = build.relu(x);
  x = build.max_pool2d(x, {.kernel = 2, .stride = 2});
  x = build.relu(build.conv2d(x, {.filters = 6, .kernel = 3, .pad = 1}));
  x = build.relu(build.dense(build.flatten(x), 8));
  return load_or_die(build.finish(build.dense(build.relu(build.dense(x, 8)), 3)));
}

TensorComparison compared(const Model& a, const Model& b) {
  Result<TensorComparison> comparison = compare_models(a, b, random_words(b, kCount), kCount, kTolerance);
  EXPECT_OK(comparison);
  return std::move(*comparison);
}

Model with_graph(const Model& model, const std::function<void(ModelGraph&)>& change) {
  return load_or_die(forged(model, change));
}

Model with_values(const Model& model, const std::string& name, const std::function<void(std::span<float>)>& change) {
  std::vector<float> values(model.parameters().begin(), model.parameters().end());
  const auto found = std::ranges::find(model.graph().tensors, name, &TensorInfo::name);
  EXPECT_NE(found, model.graph().tensors.end()) << name;
  change(std::span(values).subspan(found->payload_offset / sizeof(float), elements(found->shape)));
  return load_or_die(model.file_with(values));
}

std::string first_of(const TensorComparison& comparison) {
  const ComparedTensor* const first = comparison.first_apart();
  return first == nullptr ? "" : first->name;
}

OpInfo& op_of(ModelGraph& graph, const std::string& name) { return *std::ranges::find(graph.ops, name, &OpInfo::name); }

TEST(PlantedFaults, NoneAgree) {
  const TensorComparison comparison = compared(net(), net());
  EXPECT_EQ(first_of(comparison), "");
  EXPECT_EQ(comparison.tensors.size() + 1, net().graph().ops.size()) << "all but flatten, which is a view";
  EXPECT_THAT(comparison.only_a, IsEmpty());
  EXPECT_THAT(comparison.only_b, IsEmpty());
  for (const ComparedTensor& tensor : comparison.tensors) EXPECT_EQ(tensor.verdict, TensorVerdict::same) << tensor.name;
}

TEST(PlantedFaults, WrongPadding) {
  const Model wrong = with_graph(net(), [](ModelGraph& graph) {
    auto& attributes = std::get<Conv2dAttributes>(op_of(graph, "conv1").attributes);
    attributes.pad_top = 2;  // the same shape, one row further down
    attributes.pad_bottom = 0;
  });
  const TensorComparison comparison = compared(wrong, net());
  ASSERT_EQ(first_of(comparison), "conv1");
  EXPECT_THAT(comparison.first_apart()->notes, Contains("attributes: not the same"));
  EXPECT_EQ(comparison.tensors.back().verdict, TensorVerdict::differs) << "a consequence";
  EXPECT_FALSE(comparison.tensors.back().is_origin);
}

TEST(PlantedFaults, TransposedWeight) {
  const Model wrong = with_values(net(), "dense2.weight", [](std::span<float> values) {
    for (size_t i = 0; i < 8; ++i) {
      for (size_t j = 0; j < i; ++j) std::swap(values[i * 8 + j], values[j * 8 + i]);
    }
  });
  const TensorComparison comparison = compared(wrong, net());
  ASSERT_EQ(first_of(comparison), "dense2");
  EXPECT_THAT(comparison.first_apart()->notes, ElementsAre("dense2.weight: transposed"));
}

TEST(PlantedFaults, SwappedChannels) {
  const Model wrong = with_values(net(), "conv1.weight", [](std::span<float> values) {
    for (size_t i = 0; i < values.size(); i += 6) std::swap(values[i + 1], values[i + 4]);
  });
  const TensorComparison comparison = compared(wrong, net());
  ASSERT_EQ(first_of(comparison), "conv1");
  EXPECT_THAT(comparison.first_apart()->notes, ElementsAre("conv1.weight: its channels are in another order"));
}

TEST(PlantedFaults, Overflow) {
  const Model wrong = with_values(net(), "dense1.weight", [](std::span<float> values) {
    for (float& value : values) value *= 1e38f;
  });
  const TensorComparison comparison = compared(wrong, net());
  ASSERT_EQ(first_of(comparison), "dense1");
  EXPECT_EQ(comparison.first_apart()->verdict, TensorVerdict::not_finite);
}

// A layer's weights times a power of two, which float32 holds to the bit: its values are beyond float16's range, and
// are infinite where the other program stores them in float16.
TEST(PlantedFaults, OverflowOfFloat16) {
  const auto scaled = [](float factor) {
    return with_values(net(), "dense1.weight", [factor](std::span<float> values) {
      for (float& value : values) value *= factor;
    });
  };
  std::vector<float> wide =
      computed_output(scaled(0x1p20f), random_words(net(), kCount), kCount, kernels::kernels()).value();
  std::vector<float> half(wide);
  for (float& value : half) value = std::fabs(value) > 65504 ? std::copysign(INFINITY, value) : value;
  const auto beyond = std::ranges::count_if(wide, [](float value) { return std::fabs(value) > 65504; });
  ASSERT_GT(beyond, 1);
  ComparedTensor tensor{.name = "y", .shape = {kCount, 3}, .other_shape = {kCount, 3}};
  compare_values(half, wide, kTolerance, tensor);
  EXPECT_EQ(tensor.verdict, TensorVerdict::not_finite);
  EXPECT_THAT(tensor.notes, ElementsAre(std::to_string(beyond) +
                                        " values are infinite where the reference is beyond 65504, float16's largest"));
  EXPECT_EQ(overflow_note(std::vector<float>{INFINITY}, std::vector<float>{70000}),
            "1 value is infinite where the reference is beyond 65504, float16's largest");
  EXPECT_EQ(overflow_note(std::vector<float>{INFINITY, 1}, std::vector<float>{65504, 1}), "") << "float16 holds it";
  EXPECT_EQ(overflow_note(std::vector<float>{NAN}, std::vector<float>{70000}), "");
}

TEST(AxisOrder, MovesChannels) {
  const std::vector<float> first = {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16};  // [2, 2, 3, 1]
  const std::vector<float> last = {1, 4, 2, 5, 3, 6, 11, 14, 12, 15, 13, 16};   // [2, 3, 1, 2]
  const Shape of_first = {2, 2, 3, 1}, of_last = {2, 3, 1, 2};
  EXPECT_EQ(moved(of_first, AxisOrder::channels_last), of_last);
  EXPECT_EQ(moved(first, of_first, AxisOrder::channels_last), last);
  EXPECT_EQ(moved(last, of_last, AxisOrder::channels_first), first);
  EXPECT_THAT(fitting_orders(of_first, of_last), ElementsAre(AxisOrder::channels_last));
  EXPECT_THAT(fitting_orders({2, 3, 3, 3}, {2, 3, 3, 3}).size(), 3u) << "sizes do not tell";
  EXPECT_THAT(fitting_orders({2, 4, 1, 1}, {2, 4}),
              ElementsAre(AxisOrder::same, AxisOrder::channels_last, AxisOrder::channels_first));
  EXPECT_THAT(fitting_orders({2, 3}, {3, 2}), IsEmpty());
}

TEST(PlantedFaults, MissingBias) {
  const Model wrong =
      with_values(with_values(net(), "dense1.bias", [](std::span<float> values) { std::ranges::fill(values, 0.5f); }),
                  "dense2.bias", [](std::span<float> values) { std::ranges::fill(values, 0.5f); });
  EXPECT_EQ(first_of(compared(wrong, net())), "dense1") << "the first of two causes";
}

TEST(PlantedFaults, AnotherEpsilon) {
  const Model wrong = with_graph(
      net(), [](ModelGraph& graph) { std::get<NormAttributes>(op_of(graph, "norm").attributes).epsilon = 1e-3f; });
  EXPECT_EQ(first_of(compared(wrong, net())), "norm");
}

TEST(PlantedFaults, ANormThatIsFoldedRightlyAgrees) {
  const TensorComparison comparison = compared(net(Norm::folded), net());
  EXPECT_EQ(first_of(comparison), "");
  EXPECT_THAT(comparison.only_a, IsEmpty());
  EXPECT_THAT(comparison.only_b, ElementsAre("conv_a")) << "its own output is nowhere in the other model";
  EXPECT_EQ(comparison.tensors[0].other, "norm");
}

TEST(PlantedFaults, ANormThatIsFoldedWrongly) {
  for (const Norm norm : {Norm::folded_without_mean, Norm::folded_with_another_epsilon}) {
    EXPECT_EQ(first_of(compared(net(norm), net())), "conv_a");
    EXPECT_EQ(first_of(compared(net(), net(norm))), "norm") << "the names of the first model";
  }
}

TEST(PlantedFaults, AnotherShapeIsToldAsSuch) {
  ModelBuilder build("net", {8, 8, 1}, 4);
  const TensorId conv = build.conv2d(build.input(), {.filters = 4, .kernel = 3});
  const Model narrow = load_or_die(build.finish(build.dense(build.flatten(conv), 3)));
  ModelBuilder padded("net", {8, 8, 1}, 4);
  const TensorId wide = padded.conv2d(padded.input(), {.filters = 4, .kernel = 3, .pad = 1});
  const Model other = load_or_die(padded.finish(padded.dense(padded.flatten(wide), 3)));
  const TensorComparison comparison = compared(narrow, other);
  ASSERT_EQ(first_of(comparison), "conv1");
  EXPECT_EQ(comparison.first_apart()->verdict, TensorVerdict::shape);
}

TEST(PlantedFaults, OneInEveryLayerOfATangledNet) {
  const Model model = tangled_net();
  for (size_t i = 0; i < model.graph().ops.size(); ++i) {
    const OpInfo& op = model.graph().ops[i];
    for (const uint32_t input : op.inputs) {
      const TensorInfo& tensor = model.graph().tensors[input];
      if (tensor.role != TensorRole::parameter || tensor.name == "shared") continue;
      const Model wrong = with_values(model, tensor.name, [](std::span<float> values) {
        for (float& value : values) value += 0.5f;
      });
      EXPECT_EQ(first_of(compared(wrong, model)), op.name) << tensor.name;
    }
  }
}

TEST(Comparison, RefusesOtherInputs) {
  const Result<TensorComparison> comparison =
      compare_models(net(), tangled_net(), random_words(net(), 1), 1, kTolerance);
  ASSERT_FALSE(comparison);
  EXPECT_THAT(comparison.error().message(), HasSubstr("the same inputs"));
}

TEST(Comparison, OfArraysPairsByName) {
  const std::vector<NamedArray> a = {{"x", {2}, {1, 2}}, {"y", {2}, {1, 2}}, {"z", {1}, {5}}, {"mine", {1}, {0}}};
  const std::vector<NamedArray> b = {{"z", {1}, {6}}, {"y", {2}, {1, 3}}, {"x", {2}, {1, 2}}, {"theirs", {1}, {0}}};
  const TensorComparison comparison = compare_arrays(a, b, kTolerance);
  ASSERT_EQ(comparison.tensors.size(), 3u);
  EXPECT_EQ(comparison.tensors[0].verdict, TensorVerdict::same);
  EXPECT_EQ(first_of(comparison), "y");
  EXPECT_FALSE(comparison.tensors[2].is_origin) << "arrays have no order of causes: the first alone is named";
  EXPECT_THAT(comparison.only_a, ElementsAre("mine"));
  EXPECT_THAT(comparison.only_b, ElementsAre("theirs"));
  EXPECT_EQ(compare_arrays({{"a", {1}, {1}}}, {{"b", {1}, {1}}}, kTolerance).tensors[0].other, "b");
}

TEST(AlignLayers, LeavesOutWhatHasNoCounterpart) {
  ModelGraph a, b;
  const auto add = [](ModelGraph& graph, OpKind kind, const std::string& name) {
    graph.ops.push_back({.kind = kind, .name = name, .inputs = {}, .outputs = {0}});
  };
  add(a, OpKind::relu, "r1"), add(a, OpKind::tanh, "t"), add(a, OpKind::relu, "r2");
  add(b, OpKind::relu, "r2"), add(b, OpKind::sigmoid, "s");
  const Result<std::vector<LayerPair>> pairs = align_layers(a, b);
  ASSERT_OK(pairs);
  ASSERT_EQ(pairs->size(), 1u);
  EXPECT_EQ((*pairs)[0].a, 2u) << "the name decides";
  EXPECT_EQ((*pairs)[0].b, 0u);
}

}  // namespace
}  // namespace coterie::test
