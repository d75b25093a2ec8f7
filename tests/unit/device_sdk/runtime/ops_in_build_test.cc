// A build with some ops only: this program has a registry of its own, for dense, relu and sub (see CMakeLists.txt).
#include <gtest/gtest.h>

#include "device_sdk/runtime/ops/registry.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

TEST(OpsInBuild, AreThoseThatWereNamed) {
  for (uint8_t kind = 1; kind <= kOpKinds; ++kind) {
    const auto op = static_cast<OpKind>(kind);
    EXPECT_EQ(rule_of(op) != nullptr, op == OpKind::dense || op == OpKind::relu || op == OpKind::sub) << to_string(op);
  }
  EXPECT_EQ(rule_of(OpKind::sub)->kind, OpKind::sub);
}

// With three ops that are left out; no ModelBuilder makes it here.
Bytes left_out_file() {
  ModelGraph graph{.name = "net", .tensors = {}, .ops = {}, .inputs = {0}, .output = 4, .properties = {}};
  graph.tensors.push_back({.name = "x", .role = TensorRole::input, .shape = {8, 8, 1}});
  graph.tensors.push_back({.name = "w", .role = TensorRole::parameter, .shape = {1}});
  for (const char* name : {"a", "b", "c"}) graph.tensors.push_back({.name = name, .role = TensorRole::activation});
  graph.ops = {{OpKind::tanh, "tanh", {0}, {2}, default_attributes(OpKind::tanh)},
               {OpKind::mul, "mul", {2, 1}, {3}, default_attributes(OpKind::mul)},
               {OpKind::flatten, "flatten", {3}, {4}, default_attributes(OpKind::flatten)}};
  Bytes file = encode_head(graph, sizeof(float));
  file.resize(file.size() + sizeof(float));
  return file;
}

TEST(OpsInBuild, LeftOutAreAllNamedWhenAModelIsLoaded) {
  EXPECT_ERROR(Model::load(left_out_file()), ErrorCode::malformed, "this build has no flatten, mul, tanh");
  ModelBuilder build("mlp", {4}, 1);
  const Result<Bytes> mlp = build.finish(build.dense(build.relu(build.dense(build.input(), 3)), 2));
  ASSERT_OK(mlp);
  EXPECT_OK(Model::load(*mlp));
}

}  // namespace
}  // namespace coterie::test
