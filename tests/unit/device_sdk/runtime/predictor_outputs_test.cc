// Predictors of several outputs: each tensor of a net, within it or at its end, is what it is as the output of the same
// net that computes each op by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/left_out.h"
#include "device_sdk/runtime/predictor.h"
#include "proto/messages/model_outputs.h"
#include "tests/unit/device_sdk/runtime/gradient_of.h"

namespace coterie::test {
namespace {

constexpr uint64_t kSide = 12, kFeatures = kSide * kSide * 2;

// A net and its tensors in the order of its ops, of which each may be an output: `own` of them the model's own.
struct Net {
  ModelBuilder build{"net", {kSide, kSide, 2}, 1};
  std::vector<TensorId> tensors;
  TensorId add(TensorId tensor) { return tensors.emplace_back(tensor); }
  Model model(size_t own, const std::vector<size_t>& further = {}) {
    std::vector<TensorId> beside;
    for (const size_t tensor : further) beside.push_back(tensors[tensor]);
    return load_or_die(build.finish(tensors[own], beside));
  }
};

// Layers with what is folded into them (norm, ReLU, ReLU6), a ReLU that a pool undoes, views of the same values, two
// towers that waves may run at the same time, and sums that may be written over what they read.
Net everything_that_is_folded() {
  Net net;
  ModelBuilder& build = net.build;
  TensorId x = net.add(build.conv2d(build.input(), {.filters = 16, .pad = 1}));
  x = net.add(build.batch_norm(x));
  x = net.add(build.relu(x));
  x = net.add(build.max_pool2d(x, {}));
  std::vector<TensorId> towers;
  for (int tower = 0; tower < 2; ++tower) {
    TensorId y = net.add(build.conv2d(x, {.filters = 16, .pad = 1}));
    y = net.add(build.op(OpKind::relu6, {y}));
    towers.push_back(net.add(build.conv2d(y, {.filters = 16, .pad = 1})));
  }
  x = net.add(build.add(towers[0], towers[1]));
  x = net.add(build.op(OpKind::dropout, {x}, DropoutAttributes{0.5f}));
  x = net.add(build.flatten(x));
  x = net.add(build.dense(x, 8));
  x = net.add(build.relu(x));
  net.add(build.dense(x, 3));
  return net;
}

std::vector<size_t> all_but_the_last(const Net& net) {
  std::vector<size_t> places(net.tensors.size() - 1);
  for (size_t i = 0; i < places.size(); ++i) places[i] = i;
  return places;
}

uint64_t elements_of(const Model& model, uint32_t tensor) { return elements(at_batch(model.shape(tensor), 1)); }

using Answers = std::vector<std::vector<float>>;

Answers answers_of(Predictor& predictor, const Model& model, const std::vector<uint32_t>& outputs, uint64_t count,
                   std::span<const float> features) {
  Answers answers;
  for (const uint32_t tensor : outputs) answers.emplace_back(count * elements_of(model, tensor), -7.0f);
  const std::vector<std::span<float>> places(answers.begin(), answers.end());
  EXPECT_OK(predictor.run({&features, 1}, count, places));
  return answers;
}

TEST(PredictorOutputs, AreWhatTheyAreAloneWhereverTheyLie) {
  constexpr uint64_t kCount = 5;
  Net net = everything_that_is_folded();
  const size_t last = net.tensors.size() - 1;
  const std::vector<float> features = random_values(kCount * kFeatures, 3);
  const std::span<const float> input = features;
  Answers expected;
  for (size_t i = 0; i <= last; ++i) {
    const Model alone = net.model(i);
    Result<Predictor> plain = Predictor::create(alone, 2, limits::kArenaBytesMax, 1, nullptr, Optimisation::none);
    ASSERT_OK(plain);
    expected.emplace_back(kCount * elements(alone.output_shape()));
    ASSERT_OK(plain->run({&input, 1}, kCount, expected.back()));
  }
  const auto expect_near = [&](const std::vector<float>& seen, size_t tensor, const std::string& what) {
    ASSERT_EQ(seen.size(), expected[tensor].size());
    for (size_t k = 0; k < seen.size(); ++k) {
      ASSERT_NEAR(seen[k], expected[tensor][k], 1e-4) << what << ", tensor " << tensor << " at " << k;
    }
  };
  // All at once, which leaves nothing to fold, and each beside the model's own, where everything else is.
  const Model all = net.model(last, all_but_the_last(net));
  Result<Predictor> predictor = Predictor::create_of_all(all, 4);
  ASSERT_OK(predictor);
  const std::vector<uint32_t> outputs = *graph_outputs(all.graph());
  const Answers together = answers_of(*predictor, all, outputs, kCount, features);
  expect_near(together[0], last, "all");
  for (size_t i = 0; i < last; ++i) expect_near(together[i + 1], i, "all");
  for (size_t i = 0; i < last; ++i) {
    for (const bool is_own_first : {true, false}) {
      std::vector<uint32_t> two = {outputs[0], outputs[i + 1]};
      if (!is_own_first) std::swap(two[0], two[1]);
      Result<Predictor> of_two = Predictor::create_of(all, two, 4);
      ASSERT_OK(of_two);
      const Answers seen = answers_of(*of_two, all, two, kCount, features);
      expect_near(seen[is_own_first ? 0 : 1], last, "beside " + std::to_string(i));
      expect_near(seen[is_own_first ? 1 : 0], i, "beside the own");
    }
  }
}

// The pre-activation of a ReLU that a dense layer would compute with it.
TEST(PredictorOutputs, APreActivationIsNotActivated) {
  ModelBuilder build("by hand", {1}, 1);
  const TensorId w = build.parameter("w", {1, 2}, {1, -1});
  const TensorId before = build.op(OpKind::dense, {build.input(), w});
  const Model model = load_or_die(build.finish(build.relu(before), std::vector{before}));
  Result<Predictor> predictor = Predictor::create_of_all(model, 1);
  ASSERT_OK(predictor);
  const Answers seen = answers_of(*predictor, model, *graph_outputs(model.graph()), 1, std::vector<float>{3});
  EXPECT_EQ(seen, (Answers{{3, 0}, {3, -3}}));
}

// Two towers whose layers are too small to be cut and many enough to be worth a thread each, with outputs within them:
// pre-activations, of which the next layers' buffers may take the place once nobody reads them.
TEST(PredictorOutputs, OfWavesAreTheSameBits) {
  constexpr uint64_t kCount = 40, kWidth = 128;
  constexpr uint32_t kBatch = 32;
  ModelBuilder build("towers", {kWidth}, 1);
  std::vector<TensorId> towers, further;
  for (int tower = 0; tower < 2; ++tower) {
    TensorId x = build.input();
    for (int layer = 0; layer < 20; ++layer) {
      x = build.dense(x, kWidth);
      if (layer % 7 == 3) further.push_back(x);
      x = build.relu(x);
    }
    towers.push_back(x);
  }
  const Model model = load_or_die(build.finish(build.dense(build.add(towers[0], towers[1]), 3), further));
  const std::vector<uint32_t> outputs = *graph_outputs(model.graph());
  if (kHasWaves) {
    const Result<CompiledModel> compiled = compile(model, {.purpose = Purpose::predict,
                                                           .further_outputs = further_outputs(model.graph()),
                                                           .batch_size = kBatch,
                                                           .arena_bytes_max = limits::kArenaBytesMax,
                                                           .threads = 2});
    ASSERT_OK(compiled);
    EXPECT_FALSE(compiled->program.waves(Phase::forward).empty()) << "the towers are worth a thread each";
  }
  const std::vector<float> features = random_values(kCount * kWidth, 4);
  Answers by_one;
  for (const uint32_t threads : {1u, 2u, 3u}) {
    Result<Predictor> predictor = Predictor::create_of(model, outputs, kBatch, limits::kArenaBytesMax, threads);
    ASSERT_OK(predictor);
    for (int run = 0; run < 5; ++run) {  // the first ones are tried both ways
      const Answers seen = answers_of(*predictor, model, outputs, kCount, features);
      if (by_one.empty()) by_one = seen;
      EXPECT_EQ(seen, by_one) << threads;
    }
  }
  EXPECT_LT(*std::ranges::min_element(by_one[1]), 0) << "pre-activations";
}

TEST(PredictorOutputs, ThatAreWholeNumbersKeepTheirBits) {
  ModelBuilder build("signs", {3}, 1);
  const TensorId y = build.dense(build.input(), 2);
  const TensorId zero = build.constant("zero", {1}, std::vector<float>{0});
  const TensorId is_positive = build.op(OpKind::greater, {build.input(), zero});
  const Model model = load_or_die(build.finish(y, std::vector{is_positive}));
  EXPECT_ERROR(Predictor::create_of_all(model, 2), ErrorCode::invalid_argument, "is not float32");
  const std::vector<uint32_t> outputs = further_outputs(model.graph());
  Result<Predictor> predictor = Predictor::create_of(model, outputs, 2);
  ASSERT_OK(predictor);
  const Answers seen = answers_of(*predictor, model, outputs, 1, std::vector<float>{2, -1, 0.5f});
  std::vector<int32_t> signs;
  for (const float word : seen[0]) signs.push_back(std::bit_cast<int32_t>(word));
  EXPECT_EQ(signs, (std::vector<int32_t>{1, 0, 1}));
}

TEST(PredictorOutputs, OfOthersAreRefused) {
  Net net = everything_that_is_folded();
  const Model model = net.model(net.tensors.size() - 1, {4, 0});
  const std::vector<uint32_t> outputs = *graph_outputs(model.graph());
  const auto refuses = [&](const std::vector<uint32_t>& asked, const std::string& why) {
    EXPECT_ERROR(Predictor::create_of(model, asked, 2), ErrorCode::invalid_argument, why);
  };
  refuses({}, "no output is asked for");
  refuses({outputs[1], outputs[1]}, "is asked for twice");
  refuses({net.tensors[1]}, "is no output of the model");
  refuses({~0u}, "is no output of the model");
  EXPECT_ERROR(Predictor::create_of(model, outputs, 0), ErrorCode::invalid_argument, "batch_size");
  Result<Predictor> predictor = Predictor::create_of(model, {{outputs[2], outputs[0]}}, 2);
  ASSERT_OK(predictor);
  std::vector<float> features(kFeatures), first(elements_of(model, outputs[2])), second(3);
  const std::span<const float> input = features;
  ASSERT_OK(predictor->run({&input, 1}, 1, std::vector<std::span<float>>{first, second}));
  EXPECT_ERROR(predictor->run({&input, 1}, 1, second), ErrorCode::invalid_argument, "1 outputs, computed are 2");
  second.pop_back();
  EXPECT_ERROR(predictor->run({&input, 1}, 1, std::vector<std::span<float>>{first, second}),
               ErrorCode::invalid_argument, "output " + model.graph().tensors[outputs[0]].name + " has 2 values");
}

}  // namespace
}  // namespace coterie::test
