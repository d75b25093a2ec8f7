#include "proto/messages/model_clusters.h"

#include <gtest/gtest.h>

#include <functional>

#include "proto/messages/plan.h"
#include "proto/messages/trained_values.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

// Two layers, a norm with statistics, and a constant, of which the payload has 5 aligned pieces.
constexpr uint64_t kPayloadBytes = 4 * 64 + 40;

ModelGraph one() {
  const auto stored = [](const char* name, TensorRole role, uint64_t offset, Shape shape) {
    return TensorInfo{.name = name, .role = role, .shape = std::move(shape), .payload_offset = offset};
  };
  ModelGraph graph;
  graph.name = "net";
  graph.properties["by"] = "hand";
  graph.tensors = {{.name = "x", .role = TensorRole::input, .shape = {10}},
                   stored("scale", TensorRole::parameter, 0, {10}),
                   stored("shift", TensorRole::parameter, 64, {10}),
                   stored("mean", TensorRole::state, 128, {10}),
                   stored("variance", TensorRole::state, 192, {10}),
                   stored("head.weight", TensorRole::parameter, 256, {10, 1}),
                   {.name = "n"},
                   {.name = "two", .role = TensorRole::constant, .shape = {1}, .data = Bytes(4)},
                   {.name = "h"},
                   {.name = "y"}};
  graph.ops = {{OpKind::batch_norm, "norm", {0, 1, 2, 3, 4}, {6}, default_attributes(OpKind::batch_norm)},
               {OpKind::add, "add", {6, 7}, {8}, default_attributes(OpKind::add)},
               {OpKind::dense, "head", {8, 5, kNoTensor}, {9}, default_attributes(OpKind::dense)}};
  graph.inputs = {0};
  graph.output = 9;
  return graph;
}

TrainingSettings training(const std::function<void(TrainingSettings&)>& change = [](TrainingSettings&) {}) {
  TrainingSettings settings;
  settings.personal = PersonalSettings{.kind = PersonalKind::clusters, .count = 3};
  change(settings);
  return settings;
}

TEST(ModelClusters, HoldTheSameModelSoManyTimes) {
  const Result<ModelGraph> stacked = stack_graph(one(), 3, kPayloadBytes);
  ASSERT_OK(stacked);
  EXPECT_EQ(cluster_count(*stacked), 3u);
  EXPECT_EQ(cluster_count(one()), 1u);
  EXPECT_EQ(stacked->tensors.size(), 2 + 3 * 8u) << "the input and the constant are shared";
  EXPECT_EQ(stacked->ops.size(), 9u);
  EXPECT_EQ(copy_bytes(*stacked), 320u) << "filled up";
  EXPECT_EQ(stacked->tensors[10].name, "cluster2/scale");
  EXPECT_EQ(stacked->tensors[10].payload_offset, 320u);
  EXPECT_EQ(stacked->ops[4].inputs[1], 7u) << "the constant";
  const Result<ModelGraph> again = graph_of_cluster(*stacked);
  ASSERT_OK(again);
  EXPECT_EQ(*again, one());
}

// A file that says what it holds is looked at before it is believed.
TEST(ModelClusters, AreRefusedWhereTheCopiesDiffer) {
  const std::function<void(ModelGraph&)> changes[] = {
      [](ModelGraph& g) { g.tensors[10].payload_offset += 64; },
      [](ModelGraph& g) { g.tensors[12].shape = {9}; },
      [](ModelGraph& g) { g.ops[5].name = "other"; },
      [](ModelGraph& g) { g.ops.pop_back(); },
      [](ModelGraph& g) { g.tensors.pop_back(); },
      [](ModelGraph& g) { g.output = 20; },
      [](ModelGraph& g) { g.properties["clusters"] = "2"; },
      [](ModelGraph& g) { g.ops[0].inputs[1] = 25; },
      [](ModelGraph& g) { g.tensors.resize(3); },
      [](ModelGraph& g) { g.ops.resize(3); },
      [](ModelGraph& g) { g.tensors.clear(); },
  };
  for (const auto& change : changes) {
    ModelGraph stacked = *stack_graph(one(), 3, kPayloadBytes);
    change(stacked);
    EXPECT_ERROR(graph_of_cluster(stacked), ErrorCode::malformed, "not of one form");
  }
  for (const char* const text : {"", "1", "9", "-2", "2x", "4294967298"}) {
    ModelGraph graph = one();
    graph.properties["clusters"] = text;
    EXPECT_EQ(cluster_count(graph), 1u) << text;
  }
}

TEST(ModelClusters, AreTwoToEightOfOneModel) {
  EXPECT_ERROR(stack_graph(one(), 1, kPayloadBytes), ErrorCode::invalid_argument, "2 to 8");
  EXPECT_ERROR(stack_graph(one(), 9, kPayloadBytes), ErrorCode::invalid_argument, "2 to 8");
  EXPECT_ERROR(stack_graph(*stack_graph(one(), 2, kPayloadBytes), 2, 640), ErrorCode::invalid_argument,
               "several itself");
  ModelGraph long_name = one();
  long_name.tensors[1].name = std::string(250, 'x');
  EXPECT_ERROR(stack_graph(long_name, 2, kPayloadBytes), ErrorCode::invalid_argument, "too long");
}

// Names are those of the model that devices train; each copy has the same values in an update, in its own slot.
TEST(ModelClusters, TrainTheSameValuesOfEach) {
  const ModelGraph stacked = *stack_graph(one(), 3, kPayloadBytes);
  EXPECT_EQ(*trained_value_count(stacked, training()), 0u) << "all: updates have every value";
  const TrainingSettings head = training([](TrainingSettings& t) { t.train_only = {"head.*"}; });
  const uint64_t own = *trained_value_count(one(), head);
  EXPECT_EQ(own, 30u) << "the head, and the statistics that training moves";
  EXPECT_EQ(*trained_value_count(stacked, head), 3 * own);
  const Result<TrainedPart> part = trained_part(stacked, head);
  ASSERT_OK(part);
  ASSERT_EQ(part->selection.ranges().size(), 9u);
  for (uint64_t copy = 0; copy < 3; ++copy) {
    EXPECT_EQ(part->selection.ranges()[3 * copy], (ValueRange{32 + 80 * copy, 10}));
    EXPECT_EQ(part->selection.ranges()[3 * copy + 2], (ValueRange{64 + 80 * copy, 10}));
  }
  EXPECT_ERROR(trained_value_count(stacked, training([](TrainingSettings& t) { t.freeze = {"cluster2/*"}; })),
               ErrorCode::invalid_argument, "matches no parameter");
}

}  // namespace
}  // namespace coterie
