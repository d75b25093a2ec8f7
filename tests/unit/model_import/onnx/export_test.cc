// The form of what is exported.
#include "model_import/onnx/export_onnx.h"

#include <gtest/gtest.h>

#include "model_import/onnx/read_onnx.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"

namespace coterie {
namespace {

using namespace test;

model_import::Graph exported(const std::string& name) {
  const Result<Bytes> file = model_import::export_onnx(imported(name).value());
  EXPECT_OK(file);
  Result<model_import::Graph> graph = model_import::read_onnx(*file);
  EXPECT_OK(graph);
  return std::move(*graph);
}

TEST(OnnxExport, WeightsKeepNameShapeAndBits) {
  const Result<model_import::Graph> before = model_import::read_onnx(read_or_die(golden_path("residual.onnx")));
  ASSERT_OK(before);
  const model_import::Graph after = exported("residual");
  for (const auto& [name, constant] : before->constants) {
    if (constant.is_literal || constant.tensor.element != model_import::Element::real) continue;
    ASSERT_TRUE(after.constants.contains(name)) << name;
    EXPECT_EQ(after.constants.at(name).tensor.shape, constant.tensor.shape) << name;
    EXPECT_EQ(after.constants.at(name).tensor.reals, constant.tensor.reals) << name;
  }
}

TEST(OnnxExport, ImagesAreNchwAndNothingIsTransposed) {
  const model_import::Graph graph = exported("residual");
  ASSERT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.inputs[0].name, "x0");
  EXPECT_EQ(graph.inputs[0].shape[0].symbol, "batch");
  EXPECT_EQ(graph.inputs[0].shape[1].value, 3);
  for (const model_import::Node& node : graph.nodes) EXPECT_NE(node.op, "Transpose") << node.name;
}

}  // namespace
}  // namespace coterie
