// Each pass has a proof here: graphs where it fires and computes the same, and near misses where it must not. Then
// levels, what a file for training keeps, and all passes together.
#include "tools/optimise/optimise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/os/file.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/parse_optimisation.h"
#include "device_sdk/runtime/predictor.h"
#include "device_sdk/runtime/training_identity.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"
#include "tests/unit/tools/pass_proofs.h"

namespace coterie {
namespace {

using namespace test;
using enum OpKind;

constexpr uint32_t kBatch = 3;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A model has a parameter: the slope of what leaves each number as it is.
Model finished(Net& net, TensorId output) {
  const TensorId slope = net.build.parameter("slope", {1}, {1});
  const Result<Bytes> file = net.build.finish(net.op(prelu, {output, slope}));
  EXPECT_OK(file);
  const Model model = *Model::load(*file);
  // Biases and running statistics that are not those of the beginning.
  std::vector<float> values(model.parameters().begin(), model.parameters().end());
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (!has_payload(tensor.role) || tensor.shape.size() != 1 || tensor.name == "slope") continue;
    for (uint64_t i = 0; i < elements(tensor.shape); ++i) {
      values[tensor.payload_offset / sizeof(float) + i] = static_cast<float>(net.prng.uniform(.2, 2));
    }
  }
  return *Model::load(model.file_with(values));
}

// Op by op, so that nothing but the graph decides, unless another level is named.
std::vector<float> answers(const Model& model, const std::vector<float>& input,
                           Optimisation level = Optimisation::none) {
  std::vector<float> output(kBatch * elements(model.output_shape()));
  Result<Predictor> predictor = Predictor::create(model, kBatch, limits::kArenaBytesMax, 1, nullptr, level);
  EXPECT_OK(predictor);
  const std::span<const float> inputs[] = {input};
  EXPECT_OK(predictor->run(inputs, kBatch, output));
  return output;
}

std::vector<float> random_input(const Model& model, Prng& prng, bool with_specials) {
  constexpr float kSpecials[] = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, -0.0f, 0.0f};
  std::vector<float> input(kBatch * elements(model.input_shape()));
  for (float& value : input) {
    value = static_cast<float>(prng.uniform(-4, 8));
    if (with_specials && prng.below(4) == 0) value = kSpecials[prng.below(std::size(kSpecials))];
  }
  return input;
}

// Two NaNs are the same number.
bool is_same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

void expect_same_answers(const Model& before, const Model& after, bool same_bits, double bound, Prng& prng) {
  ASSERT_EQ(after.output_shape(), before.output_shape());
  const std::vector<float> input = random_input(before, prng, same_bits);
  const std::vector<float> expected = answers(before, input), seen = answers(after, input);
  float largest = 0;
  for (const float value : expected) largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : largest;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (same_bits) ASSERT_TRUE(is_same(seen[i], expected[i])) << i << ": " << seen[i] << ", not " << expected[i];
    else ASSERT_NEAR(seen[i], expected[i], bound * largest) << i;
  }
}

class PassProof : public ::testing::TestWithParam<Proof> {};

TEST_P(PassProof, ItFiresAndComputesTheSame) {
  const Proof& proof = GetParam();
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Net net(proof.shape, seed);
    const Model model = finished(net, proof.fires(net));
    const Result<OptimisedModel> optimised = optimise(model, {.only = proof.pass});
    ASSERT_OK(optimised);
    ASSERT_EQ(optimised->passes.size(), 1u) << "it does not fire";
    EXPECT_GE(optimised->passes[0].rewrites, proof.rewrites);
    Prng prng(seed + 100);
    for (int k = 0; k < 4; ++k) expect_same_answers(model, optimised->model, proof.same_bits, proof.bound, prng);
    // Again it finds nothing.
    EXPECT_TRUE(optimise(optimised->model, {.only = proof.pass})->passes.empty());
  }
}

TEST_P(PassProof, ANearMissStays) {
  const Proof& proof = GetParam();
  for (size_t i = 0; i < proof.near_misses.size(); ++i) {
    Net net(proof.shape, 1);
    const Model model = finished(net, proof.near_misses[i](net));
    const Result<OptimisedModel> optimised = optimise(model, {.only = proof.pass});
    ASSERT_OK(optimised) << i;
    EXPECT_TRUE(optimised->passes.empty()) << i;
    EXPECT_TRUE(std::ranges::equal(optimised->model.file(), model.file())) << i;
  }
}

std::string name_of(const ::testing::TestParamInfo<Proof>& info) {
  std::string name = info.param.pass;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Passes, PassProof, ::testing::ValuesIn(proofs()), name_of);

TEST(Passes, EachHasAProofAtLevelsThatFit) {
  std::set<std::string_view> proven;
  for (const Proof& proof : proofs()) proven.insert(proof.pass);
  EXPECT_EQ(proven.size(), proofs().size());
  EXPECT_GE(proven.size(), 20u);
  for (const Pass& pass : passes()) {
    EXPECT_TRUE(proven.contains(pass.name)) << pass.name;
    EXPECT_GE(pass.training, pass.level) << pass.name;
    const auto proof =
        std::ranges::find(proofs(), pass.name, [](const Proof& each) -> std::string_view { return each.pass; });
    if (proof != proofs().end()) EXPECT_EQ(proof->same_bits, pass.level == Optimisation::exact) << pass.name;
  }
  EXPECT_EQ(passes().size(), proven.size());
}

// docs/MODELS.md has the table of them.
TEST(Passes, TheTableInTheDocumentsHasEachAsItIs) {
  const Result<Bytes> file = os::read_file(source_dir() + "/docs/MODELS.md", 1 << 20);
  ASSERT_OK(file);
  std::string rows;
  for (const Pass& pass : passes()) {
    std::string what;
    for (const char c : pass.what) what += c == '*' ? std::string("\\*") : std::string(1, c);
    const auto level = [](Optimisation of) { return std::to_string(static_cast<int>(of)); };
    rows += "| `" + std::string(pass.name) + "` | " + level(pass.level) + " | " +
            (pass.training == kNeverTrained ? "never" : level(pass.training)) + " | " + what + " |\n";
  }
  EXPECT_THAT(std::string(as_text(*file)), ::testing::HasSubstr("|---|---|---|---|\n" + rows + "\n"));
}

// A level has its passes and those before, and a file for training those that leave a training as it is.
TEST(Passes, LevelsAndUsesChoose) {
  for (const Proof& proof : proofs()) {
    const Pass& pass = *std::ranges::find(passes(), std::string_view(proof.pass), &Pass::name);
    Net net(proof.shape, 1);
    const Model model = finished(net, proof.fires(net));
    for (const ModelUse use : {ModelUse::predict, ModelUse::train}) {
      const Optimisation from = use == ModelUse::train ? pass.training : pass.level;
      for (const Optimisation level :
           {Optimisation::none, Optimisation::exact, Optimisation::rounding, Optimisation::trading}) {
        const Result<OptimisedModel> optimised = optimise(model, {.level = level, .use = use});
        ASSERT_OK(optimised) << proof.pass;
        const bool is_done =
            std::ranges::find(optimised->passes, pass.name, &PassCount::name) != optimised->passes.end();
        if (level < from) EXPECT_FALSE(is_done) << proof.pass << " at " << static_cast<int>(level);
        // Others may come first, and leave it nothing.
        else if (use == ModelUse::predict) EXPECT_FALSE(optimised->passes.empty()) << proof.pass;
      }
    }
  }
}

// What a training starts with, by name.
std::map<std::string, std::vector<float>> stored(const Model& model) {
  std::map<std::string, std::vector<float>> found;
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (!has_payload(tensor.role)) continue;
    const auto values = model.parameters().subspan(tensor.payload_offset / sizeof(float), elements(tensor.shape));
    found[tensor.name].assign(values.begin(), values.end());
  }
  return found;
}

TEST(Passes, TrainingKeepsWhatItNeeds) {
  Net net({8, 8, 3}, 1);
  TensorId x =
      net.build.batch_norm(net.build.conv2d(net.op(mul, {net.x, net.known(.5f)}), {.filters = 4, .kernel = 3}));
  x = net.op(dropout, {net.op(identity, {net.op(relu, {net.op(relu, {x})})})});
  const Model model = finished(net, net.build.dense(net.op(flatten, {x}), 5));
  const auto kinds = [](const Model& of) {
    std::multiset<OpKind> found;
    for (const OpInfo& op : of.graph().ops) found.insert(op.kind);
    return found;
  };
  const Result<OptimisedModel> trained = optimise(model, {Optimisation::trading, ModelUse::train});
  ASSERT_OK(trained);
  EXPECT_THAT(kinds(trained->model),
              ::testing::UnorderedElementsAre(mul, conv2d, batch_norm, relu, dropout, flatten, dense, prelu));
  EXPECT_EQ(stored(trained->model), stored(model));
  const Result<OptimisedModel> asked = optimise(model, {Optimisation::rounding, ModelUse::predict});
  ASSERT_OK(asked);
  EXPECT_THAT(kinds(asked->model), ::testing::UnorderedElementsAre(conv2d, relu, flatten, dense, prelu));
  Prng prng(3);
  expect_same_answers(model, asked->model, false, 1e-4, prng);
  EXPECT_TRUE(std::ranges::equal(optimise(model, {.level = Optimisation::none})->model.file(), model.file()));
}

// Where an opened model computes neighbours as one.
TEST(Passes, LevelsOfAnOpenedModel) {
  Net net({8, 8, 3}, 1);
  const TensorId x = net.build.relu(net.build.batch_norm(net.build.conv2d(net.x, {.filters = 8, .kernel = 3})));
  const Model model = finished(net, net.op(tanh, {net.op(mul, {x, net.known(.1f)})}));
  Prng prng(5);
  const std::vector<float> input = random_input(model, prng, false), expected = answers(model, input);
  EXPECT_EQ(answers(model, input, Optimisation::exact), expected);
  const std::vector<float> folded = answers(model, input, Optimisation::rounding);
  EXPECT_NE(folded, expected) << "the norm is part of the layer";
  for (size_t i = 0; i < folded.size(); ++i) ASSERT_NEAR(folded[i], expected[i], 1e-5);
  EXPECT_EQ(answers(model, input, Optimisation::trading), folded);
}

TEST(Passes, ACheckpointOfAnotherLevelIsAnotherTraining) {
  const auto identity = [](Optimisation level) { return training_identity({.optimisation = level}, 10, std::nullopt); };
  EXPECT_EQ(identity(Optimisation::trading), training_identity({}, 10, std::nullopt));
  EXPECT_EQ(identity(Optimisation::none), identity(Optimisation::exact));
  EXPECT_NE(identity(Optimisation::exact), identity(Optimisation::rounding));
}

// What a pass makes is named after what it is made of, again and again.
TEST(Passes, NamesThatGrowStillMakeAFile) {
  Net net({4}, 1);
  TensorId x = net.x;
  for (int i = 0; i < 80; ++i) x = net.op(add, {x, net.known(1)});
  const Model model = finished(net, x);
  const Result<OptimisedModel> optimised = optimise(model, {.only = "known-terms"});
  ASSERT_OK(optimised);
  EXPECT_EQ(optimised->model.graph().ops.size(), 2u);
  Prng prng(3);
  expect_same_answers(model, optimised->model, false, 1e-5, prng);
}

TEST(Passes, AWrongNameIsRefused) {
  Net net({2}, 1);
  const Result<OptimisedModel> optimised = optimise(finished(net, net.x), {.only = "nothing"});
  ASSERT_FALSE(optimised);
  EXPECT_EQ(optimised.error().code(), ErrorCode::invalid_argument);
}

TEST(Passes, LevelsAreReadAsCompilersWriteThem) {
  EXPECT_EQ(*parse_optimisation("O0"), Optimisation::none);
  EXPECT_EQ(*parse_optimisation("3"), Optimisation::trading);
  for (const char* wrong : {"", "O", "4", "O12", "fast"}) EXPECT_FALSE(parse_optimisation(wrong)) << wrong;
}

}  // namespace
}  // namespace coterie
