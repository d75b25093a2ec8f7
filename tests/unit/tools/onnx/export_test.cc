// The form of what is exported.
#include "tools/onnx/export.h"

#include <gtest/gtest.h>

#include "tests/unit/tools/onnx/onnx_fixtures.h"
#include "tools/onnx/read_onnx.h"

namespace coterie {
namespace {

using namespace test;

onnx::Graph exported(const std::string& name) {
  const Result<Bytes> file = export_onnx(imported(name).value());
  EXPECT_OK(file);
  Result<onnx::Graph> graph = onnx::read_onnx(*file);
  EXPECT_OK(graph);
  return std::move(*graph);
}

TEST(OnnxExport, WeightsKeepNameShapeAndBits) {
  const Result<onnx::Graph> before = onnx::read_onnx(read_or_die(golden_path("residual.onnx")));
  ASSERT_OK(before);
  const onnx::Graph after = exported("residual");
  for (const auto& [name, constant] : before->constants) {
    if (constant.is_literal || constant.tensor.element != onnx::Element::real) continue;
    ASSERT_TRUE(after.constants.contains(name)) << name;
    EXPECT_EQ(after.constants.at(name).tensor.shape, constant.tensor.shape) << name;
    EXPECT_EQ(after.constants.at(name).tensor.reals, constant.tensor.reals) << name;
  }
}

TEST(OnnxExport, ImagesAreNchwAndNothingIsTransposed) {
  const onnx::Graph graph = exported("residual");
  ASSERT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.inputs[0].name, "x0");
  EXPECT_EQ(graph.inputs[0].shape[0].symbol, "batch");
  EXPECT_EQ(graph.inputs[0].shape[1].value, 3);
  for (const onnx::Node& node : graph.nodes) EXPECT_NE(node.op, "Transpose") << node.name;
}

}  // namespace
}  // namespace coterie
