// Which values of a model an update has, the same on both ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "proto/messages/model.h"
#include "proto/messages/personal_part.h"
#include "proto/messages/plan.h"
#include "proto/messages/trained_values.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kStep = 16;  // floats from one tensor to the next

TensorInfo stored(const char* name, TensorRole role, uint64_t place, Shape shape) {
  return {.name = name, .role = role, .shape = std::move(shape), .payload_offset = place * kStep * sizeof(float)};
}

// dense "a" -> batch norm -> dense "b", whose tensors lie in another order than the ops name them.
ModelGraph two_layers(bool norm_is_frozen = false) {
  ModelGraph graph;
  graph.tensors = {{.name = "x", .role = TensorRole::input, .shape = {3}},
                   stored("b.weight", TensorRole::parameter, 0, {4, 2}),
                   stored("a.weight", TensorRole::parameter, 1, {3, 4}),
                   stored("mean", TensorRole::state, 2, {4}),
                   stored("variance", TensorRole::state, 3, {4}),
                   stored("scale", TensorRole::parameter, 4, {4}),
                   stored("shift", TensorRole::parameter, 5, {4}),
                   {.name = "h"},
                   {.name = "n"},
                   {.name = "y"}};
  NormAttributes norm;
  norm.is_frozen = norm_is_frozen;
  graph.ops = {{OpKind::dense, "a", {0, 2}, {7}, {}},
               {OpKind::batch_norm, "n", {7, 5, 6, 3, 4}, {8}, norm},
               {OpKind::dense, "b", {8, 1}, {9}, {}}};
  graph.inputs = {0};
  graph.output = 9;
  return graph;
}

TEST(TrainedValues, AreTheParametersThatChangeAndTheStatisticsThatMove) {
  const ModelGraph graph = two_layers();
  const Result<ValueSelection> last = trained_values(graph, {.train_last = 1});
  ASSERT_OK(last);
  EXPECT_THAT(last->ranges(), ElementsAre(ValueRange{0, 8}, ValueRange{32, 4}, ValueRange{48, 4}));
  EXPECT_EQ(last->count(), 16u);
  EXPECT_EQ(*trained_value_count(graph, {.train_last = 1}), 16u);
  EXPECT_EQ(*trained_value_count(two_layers(true), {.train_last = 1}), 8u) << "the model freezes its norm";
  const Result<ValueSelection> scale = trained_values(graph, {.freeze = {"?.weight", "shift"}});
  ASSERT_OK(scale);
  EXPECT_THAT(scale->ranges(), ElementsAre(ValueRange{32, 4}, ValueRange{48, 4}, ValueRange{64, 4}));
  EXPECT_ERROR(trained_value_count(graph, {.freeze = {"c.*"}}), ErrorCode::invalid_argument, "freeze c.*");
  EXPECT_ERROR(trained_value_count(graph, {.freeze = {"*"}}), ErrorCode::invalid_argument, "nothing is left");
}

TEST(TrainedValues, AreAllOfAModelWhoseParametersAllChange) {
  EXPECT_EQ(*trained_value_count(two_layers(), {}), 0u);
  EXPECT_EQ(*trained_value_count(two_layers(), {.train_only = {"*"}}), 0u);
  ModelGraph frozen = two_layers();
  frozen.tensors[2].is_frozen = true;
  EXPECT_EQ(*trained_value_count(frozen, {}), 8u + 8 + 8) << "what the model says is frozen is";
}

TEST(TrainedValues, HaveNothingThatIsADevicesOwn) {
  const ModelGraph graph = two_layers();
  const TrainingSettings head{.personal = PersonalSettings{.parameters = {"b.*"}}};
  EXPECT_THAT(
      trained_values(graph, head)->ranges(),
      ElementsAre(ValueRange{16, 12}, ValueRange{32, 4}, ValueRange{48, 4}, ValueRange{64, 4}, ValueRange{80, 4}));
  EXPECT_EQ(*trained_value_count(graph, head), 28u);
  EXPECT_THAT(personal_values(graph, head, 96)->ranges(), ElementsAre(ValueRange{0, 8}));
  EXPECT_THAT(*personal_parameter_names(graph, head), ElementsAre("b.weight"));
  EXPECT_EQ(shared_statistics(graph, head).size(), 1u);
  const TrainingSettings norms{.personal = PersonalSettings{.norms = true}};
  EXPECT_THAT(trained_values(graph, norms)->ranges(), ElementsAre(ValueRange{0, 8}, ValueRange{16, 12}));
  EXPECT_THAT(personal_values(graph, norms, 96)->ranges(),
              ElementsAre(ValueRange{32, 4}, ValueRange{48, 4}, ValueRange{64, 4}, ValueRange{80, 4}));
  EXPECT_THAT(shared_statistics(graph, norms), IsEmpty());
  const TrainingSettings scale{.personal = PersonalSettings{.parameters = {"scale"}}};
  EXPECT_THAT(shared_statistics(graph, scale), IsEmpty()) << "a norm's statistics go with its scale";
  EXPECT_THAT(trained_values(graph, scale)->ranges(),
              ElementsAre(ValueRange{0, 8}, ValueRange{16, 12}, ValueRange{80, 4}));
  const TrainingSettings model{.personal = PersonalSettings{.kind = PersonalKind::model, .lambda = 1}};
  EXPECT_EQ(*trained_value_count(graph, model), 0u) << "all of the other model travels";
  EXPECT_EQ(personal_values(graph, model, 96)->count(), 96u);
  EXPECT_EQ(personal_values(graph, {}, 96)->count(), 0u);
}

TEST(TrainedValues, AreSomeAndSomeAreADevicesOwn) {
  const auto count = [](const PersonalSettings& personal, std::vector<std::string> freeze = {}) {
    return trained_value_count(two_layers(), {.freeze = std::move(freeze), .personal = personal});
  };
  EXPECT_ERROR(count({.parameters = {"c.*"}}), ErrorCode::invalid_argument, "c.* matches no parameter");
  EXPECT_ERROR(count({.parameters = {"mean"}}), ErrorCode::invalid_argument, "mean matches no parameter");
  EXPECT_ERROR(count({.parameters = {"*"}}), ErrorCode::invalid_argument, "nothing is left to share");
  EXPECT_ERROR(count({.parameters = {"b.*"}}, {"b.*"}), ErrorCode::invalid_argument, "would keep nothing");
  EXPECT_ERROR(count({.parameters = {"b.*"}}, {"a.*", "s*"}), ErrorCode::invalid_argument, "nothing is left to share");
  EXPECT_EQ(*count({.parameters = {"b.*", "a.*"}}, {"a.*"}), 16u) << "what is frozen may be named";
  ModelGraph plain = two_layers();
  plain.ops.erase(plain.ops.begin() + 1);
  EXPECT_ERROR(trained_value_count(plain, {.personal = PersonalSettings{.norms = true}}), ErrorCode::invalid_argument,
               "has no batch norm");
}

TEST(TrainedValues, AreGatheredWithoutGapsAndSpreadAgain) {
  const ValueSelection selection({{7, 2}, {1, 3}});
  const std::vector<float> flat = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<float> values(5);
  selection.gather(flat, values);
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 7, 8));
  EXPECT_THAT(selection.spread(values, 10), ElementsAre(0, 1, 2, 3, 0, 0, 0, 7, 8, 0));
  const ValueRange known[] = {{7, 2}, {4, 2}, {2, 2}};
  EXPECT_THAT(selection.placed(known), ElementsAre(ValueRange{1, 2}, ValueRange{3, 2}));
  const RunningStatistics norm{.mean = 7, .variance = 1, .channels = 1};
  EXPECT_THAT(selection.placed(std::span(&norm, 1)), ElementsAre(RunningStatistics{3, 0, 1}));
}

TEST(TrainedValues, OfAJobWithLoraAreWhatMovesAndEachPairsB) {
  const ModelGraph graph = two_layers();
  const TrainingSettings training{.lora = LoraSettings{.rank = 2, .alpha = 4, .pattern = "*", .fixed_a_seed = 1}};
  const Result<TrainedPart> part = trained_part(graph, training);
  ASSERT_OK(part);
  EXPECT_THAT(part->selection.ranges(), ElementsAre(ValueRange{32, 4}, ValueRange{48, 4}));
  EXPECT_THAT(part->pairs, ElementsAre(LoraPair{.weight = 2, .first_value = 16, .in = 3, .out = 4, .rank = 2},
                                       LoraPair{.weight = 1, .first_value = 0, .in = 4, .out = 2, .rank = 2}));
  EXPECT_EQ(part->count(), 8u + 2 * 4 + 2 * 2);
  EXPECT_EQ(*trained_value_count(graph, training), part->count());
  TrainingSettings nothing = training;
  nothing.lora->pattern = "c.*";
  EXPECT_ERROR(trained_part(graph, nothing), ErrorCode::invalid_argument, "lora: c.*");
}

// No count of a plan has A in it, and whoever submits a job picks the rank.
TEST(LoraPairs, AreNeverMoreThanTheModel) {
  const ModelGraph graph = two_layers();  // 28 parameters, of which each rank has 3 + 4 and 4 + 2 beside it
  EXPECT_OK(lora_pairs(graph, {.rank = 2}));
  EXPECT_ERROR(lora_pairs(graph, {.rank = 3}), ErrorCode::invalid_argument,
               "companions of rank 3 have 39 values, the model's parameters 28: the rank must be at most 2");
  EXPECT_OK(lora_pairs(graph, {.rank = 4, .pattern = "b.*"}));
  EXPECT_ERROR(lora_pairs(graph, {.rank = 5, .pattern = "b.*"}), ErrorCode::invalid_argument, "at most 4");
  ModelGraph small = graph;
  small.tensors.resize(1);
  small.tensors.push_back(stored("weight", TensorRole::parameter, 0, {3, 1}));
  small.ops = {{OpKind::dense, "a", {0, 1}, {0}, {}}};
  EXPECT_ERROR(lora_pairs(small, {.rank = 1}), ErrorCode::invalid_argument, "no rank is low enough");
  // As large as numbers get: the largest weight that a file can have, at the highest rank.
  small.tensors[1].shape = {1, int64_t{1} << 32};
  EXPECT_ERROR(lora_pairs(small, {.rank = kLoraRankMax}), ErrorCode::invalid_argument, "17592186048512 values");
  const TrainingSettings training{.lora = LoraSettings{.rank = kLoraRankMax, .fixed_a_seed = 1}};
  EXPECT_ERROR(trained_part(graph, training), ErrorCode::invalid_argument, "companions of rank 4096");
  EXPECT_ERROR(trained_value_count(graph, training), ErrorCode::invalid_argument, "companions of rank 4096");
}

// An op without companions would train beside them, and be moved by them when they are merged.
TEST(LoraPairs, AreOfWeightsThatNothingElseReads) {
  const auto weights_with = [](const OpInfo& reader) {
    ModelGraph graph = two_layers();
    graph.ops.push_back(reader);
    std::vector<uint32_t> weights;
    const Result<std::vector<LoraPair>> pairs = lora_pairs(graph, {.rank = 1});
    EXPECT_OK(pairs);
    if (!pairs) return weights;
    for (const LoraPair& pair : *pairs) weights.push_back(pair.weight);
    return weights;
  };
  const Conv2dAttributes grouped{.groups = 3};
  EXPECT_THAT(weights_with({OpKind::dense, "again", {0, 2}, {9}, {}}), ElementsAre(2, 1));
  EXPECT_THAT(weights_with({OpKind::matmul, "tied", {0, 2}, {9}, {}}), ElementsAre(1));
  EXPECT_THAT(weights_with({OpKind::embedding, "table", {0, 2}, {9}, {}}), ElementsAre(1));
  EXPECT_THAT(weights_with({OpKind::conv2d, "grouped", {0, 2}, {9}, grouped}), ElementsAre(1));
  EXPECT_THAT(weights_with({OpKind::dense, "as its input", {2, 1}, {9}, {}}), ElementsAre(1));
  ModelGraph tied = two_layers();
  tied.ops.push_back({OpKind::matmul, "tied", {0, 2}, {9}, {}});
  EXPECT_ERROR(lora_pairs(tied, {.rank = 1, .pattern = "a.*"}), ErrorCode::invalid_argument, "a.* matches no weight");
}

TEST(LoraPairs, HaveTheSameAOfTheSameSeed) {
  const LoraSettings settings{.rank = 50, .pattern = "*", .fixed_a_seed = 7};
  const std::vector<LoraPair> pairs = {{.in = 3, .out = 4, .rank = 50}, {.in = 4, .out = 2, .rank = 50}};
  const std::vector<float> a = draw_lora_a(pairs, settings);
  ASSERT_EQ(a.size(), (3u + 4) * 50);
  EXPECT_EQ(a, draw_lora_a(pairs, settings));
  LoraSettings other = settings;
  other.fixed_a_seed = 8;
  EXPECT_NE(a, draw_lora_a(pairs, other));
  double squares = 0;
  for (size_t i = 0; i < 150; ++i) {
    EXPECT_LE(std::abs(a[i]), std::sqrt(6.0f / 3));
    squares += static_cast<double>(a[i]) * static_cast<double>(a[i]);
  }
  EXPECT_NEAR(squares / 150, 2.0 / 3, 0.15) << "He's variance";
}

TEST(LoraPairs, AddTheirProductToAnyPieceOfTheWeight) {
  const LoraPair pair{.in = 2, .out = 3, .rank = 2};
  const std::vector<float> a = {1, 2, 3, 4}, b = {1, 0, 2, 0, 1, 1};
  std::vector<float> whole(6, 10), pieces(6, 10);
  add_lora_product(pair, 0.5, a, b, 0, whole);
  EXPECT_THAT(whole, ElementsAre(10.5f, 11, 12, 11.5f, 12, 15));
  for (size_t i = 0; i < 6; i += 2) add_lora_product(pair, 0.5, a, b, i, std::span(pieces).subspan(i, 2));
  EXPECT_EQ(pieces, whole);
}

// Rows longer than what is summed at once, in pieces that begin and end anywhere, against the definition.
TEST(LoraPairs, AddTheSameBitsHoweverTheWeightIsCut) {
  const LoraPair pair{.in = 3, .out = 600, .rank = 5};
  Prng random(3);
  const auto drawn = [&random](uint64_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(random.normal());
    return values;
  };
  const std::vector<float> a = drawn(pair.a_values()), b = drawn(pair.b_values()), weights = drawn(3 * 600);
  std::vector<float> expected = weights;
  for (uint64_t i = 0; i < expected.size(); ++i) {
    double sum = 0;
    for (uint64_t k = 0; k < 5; ++k) sum += double(a[i / 600 * 5 + k]) * double(b[k * 600 + i % 600]);
    const volatile double scaled = sum * 0.3;  // rounded before it is added
    expected[i] = static_cast<float>(double(expected[i]) + scaled);
  }
  for (const uint64_t piece : {uint64_t{1}, uint64_t{255}, uint64_t{257}, uint64_t{700}, uint64_t{1'800}}) {
    std::vector<float> seen = weights;
    for (uint64_t first = 0; first < seen.size(); first += piece) {
      const uint64_t count = std::min(piece, seen.size() - first);
      add_lora_product(pair, 0.3, a, b, first, std::span(seen).subspan(first, count));
    }
    EXPECT_EQ(seen, expected) << piece;
  }
}

}  // namespace
}  // namespace coterie
