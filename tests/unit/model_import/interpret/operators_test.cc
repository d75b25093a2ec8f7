// ONNX's own tests of each operator (tests/golden/onnx_operators), and whether each that is imported is interpreted.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "model_import/convert/operators.h"
#include "model_import/interpret/interpret.h"
#include "tests/unit/model_import/onnx_cases.h"
#include "tests/unit/model_import/onnx_operators.h"

namespace coterie::model_import {
namespace {

TEST(InterpretedOperators, AreAllThatAreImported) {
  for (const std::string_view op : imported_operators()) EXPECT_TRUE(is_interpreted(std::string(op))) << op;
  EXPECT_GT(imported_operators().size(), 75u);
  EXPECT_FALSE(is_interpreted("Bernoulli"));
}

void expect_equal(const Array& seen, const Array& expected, const std::string& name) {
  ASSERT_EQ(seen.shape, expected.shape) << name;
  EXPECT_EQ(seen.element, expected.element) << name;
  for (size_t i = 0; i < seen.values.size(); ++i) {
    const double should = expected.values[i], is = seen.values[i];
    if (std::isnan(should) && std::isnan(is)) continue;
    if (should == is) continue;
    ASSERT_NEAR(is, should, 1e-5 + 1e-5 * std::fabs(should)) << name << ", element " << i;
  }
}

TEST(InterpretedOperators, PassOnnxsOwnTests) {
  size_t cases = 0;
  for (const test::OnnxCase& made : test::onnx_cases()) {
    Arrays given;
    for (size_t i = 0; i < made.inputs.size(); ++i) given[made.graph.inputs[i].name] = *array_of(made.inputs[i]);
    for (size_t i = 0; i < made.expected.size(); ++i) {
      const std::string& output = made.graph.outputs[i].name;
      const Result<Arrays> computed = interpret(made.graph, given, {output});
      ASSERT_OK(computed) << made.name;
      expect_equal(computed->at(output), *array_of(made.expected[i]), made.name);
    }
    ++cases;
  }
  EXPECT_GT(cases, 1000u);
}

// The newest edition of each operator is among ONNX's own tests.
TEST(InterpretedOperators, HaveATestOfOnnx) {
  // ONNX's test of it has 10,000 numbers; interpret_test.cc has values of it.
  const std::set<std::string> without = {"Mish"};
  std::map<std::string, int64_t> newest;
  for (const test::OnnxCase& made : test::onnx_cases()) {
    int64_t& opset = newest[made.graph.nodes[0].op];
    opset = std::max(opset, made.graph.opset);
  }
  const std::map<std::string, std::vector<int64_t>> editions = test::onnx_editions();
  for (const std::string_view name : imported_operators()) {
    const std::string op(name);
    if (without.contains(op)) continue;
    ASSERT_TRUE(newest.contains(op)) << op;
    EXPECT_GE(newest[op], editions.at(op).back()) << op;
  }
}

}  // namespace
}  // namespace coterie::model_import
