// A model's graph as it is told: who reads what, in which shape, with how many parameters.
#include "fl_server/model_view/model_graph_json.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "device_sdk/runtime/model_builder.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using nlohmann::json;

TEST(ModelGraphJson, SaysWhoReadsWhatInWhichShape) {
  ModelBuilder build("small", {8, 8, 1}, 1);
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 4, .kernel = 3, .pad = 1}));
  x = build.add(x, build.conv2d(x, {.filters = 4, .kernel = 1, .bias = false}));
  (void)build.dense(build.flatten(x), 10);
  const Result<json> told = model_graph_json(build.graph());
  ASSERT_OK(told);
  const json& ops = (*told)["ops"];
  ASSERT_EQ(ops.size(), 6u);
  EXPECT_EQ((*told)["inputs"], json::parse(R"([{"name": "input", "shape": [-1, 8, 8, 1], "type": "float32"}])"));
  EXPECT_EQ(ops[0]["kind"], "conv2d");
  EXPECT_EQ(ops[0]["reads"], json::parse(R"([{"input": 0}])"));
  EXPECT_EQ(ops[0]["outputs"], json::parse("[[-1, 8, 8, 4]]"));
  EXPECT_EQ(ops[0]["parameters"].size(), 2u);
  EXPECT_EQ(ops[0]["parameters"][0]["shape"], json::parse("[3, 3, 1, 4]"));
  EXPECT_EQ(ops[0]["values"], 40);
  EXPECT_EQ(ops[3]["reads"], json::parse(R"([{"op": 1, "output": 0}, {"op": 2, "output": 0}])"));
  EXPECT_EQ(ops[5]["outputs"], json::parse("[[-1, 10]]"));
  EXPECT_EQ((*told)["values"], 40 + 16 + 2'570);
  EXPECT_EQ((*told)["ops_left_out"], 0);
  EXPECT_EQ((*told)["blocks"], json::array());
}

TEST(ModelGraphJson, CountsAParameterWithTheFirstOpThatReadsIt) {
  ModelBuilder build("tied", {2}, 1);
  const TensorId weight = build.parameter("w", {2, 2}, {1, 2, 3, 4});
  const TensorId first = build.op(OpKind::dense, {build.input(), weight});
  (void)build.op(OpKind::dense, {first, weight});
  const Result<json> told = model_graph_json(build.graph());
  ASSERT_OK(told);
  EXPECT_EQ((*told)["ops"][0]["values"], 4);
  EXPECT_EQ((*told)["ops"][1]["values"], 0);
  EXPECT_EQ((*told)["ops"][1]["shared_parameters"], 1);
  EXPECT_EQ((*told)["values"], 4);
}

TEST(ModelGraphJson, PutsEachOpIntoItsInnermostBlock) {
  ModelBuilder build("named", {4}, 1);
  TensorId x = build.input();
  for (int i = 0; i < 4; ++i) x = build.dense(x, 4);
  ModelGraph graph = build.graph();
  const char* names[] = {"body.a.one", "body.a.two", "body.b", "head"};
  for (size_t i = 0; i < 4; ++i) graph.ops[i].name = names[i];
  const Result<json> told = model_graph_json(graph);
  ASSERT_OK(told);
  const json& blocks = (*told)["blocks"];
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0], (json{{"name", "body"}, {"first", 0}, {"ops", 3}, {"values", 60}}));
  EXPECT_EQ(blocks[1], (json{{"name", "a"}, {"first", 0}, {"ops", 2}, {"values", 40}, {"parent", 0}}));
  EXPECT_EQ((*told)["ops"][0]["block"], 1);
  EXPECT_EQ((*told)["ops"][2]["block"], 0);
  EXPECT_FALSE((*told)["ops"][3].contains("block"));
}

TEST(ModelGraphJson, LeavesOutWhatIsBeyondItsLimits) {
  ModelBuilder build("long", {1}, 1);
  TensorId x = build.input();
  for (size_t i = 0; i < kShownOpsMax + 5; ++i) x = build.relu(x);
  ModelGraph graph = build.graph();
  graph.output = x;
  const Result<json> told = model_graph_json(graph);
  ASSERT_OK(told);
  EXPECT_EQ((*told)["ops"].size(), kShownOpsMax);
  EXPECT_EQ((*told)["ops_left_out"], 5);
  EXPECT_EQ((*told)["output"], json::parse(R"({"op": 2052, "output": 0})")) << "which is not among them";
}

TEST(ModelGraphJson, RefusesAGraphWhoseShapesDoNotFit) {
  ModelBuilder build("wrong", {4}, 1);
  (void)build.dense(build.input(), 4);
  ModelGraph graph = build.graph();
  graph.tensors[1].shape = {5, 4};
  EXPECT_ERROR(model_graph_json(graph), ErrorCode::malformed, "dense");
}

}  // namespace
}  // namespace coterie
