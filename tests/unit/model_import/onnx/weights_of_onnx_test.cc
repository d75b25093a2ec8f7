// The tables of ONNX files that PyTorch has exported lie as PyTorch has them, under its names. Read as a file of
// weights they must come out as the importer, which shares no code with the mapping, has laid them out.
#include <gtest/gtest.h>

#include "model_import/mapping/map_weights.h"
#include "model_import/onnx/read_onnx.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"
#include "tests/unit/model_import/weights/made_table.h"

namespace coterie {
namespace {

using namespace test;

class WeightsOfOnnx : public testing::TestWithParam<const char*> {};

TEST_P(WeightsOfOnnx, AreWhereTheImporterHasThem) {
  const std::string file = golden_path(std::string(GetParam()) + ".onnx");
  const std::optional<Model> model = imported_file(file);
  if (!model) GTEST_SKIP() << "SKIPPED: this build has not all ops of " << GetParam();
  const Result<model_import::Graph> graph = model_import::read_onnx(read_or_die(file));
  ASSERT_OK(graph);
  MadeTable table(model_import::WeightFormat::pytorch);
  for (const auto& [name, constant] : graph->constants) {
    const model_import::HostTensor& tensor = constant.tensor;
    if (name.starts_with("onnx::")) continue;  // made up by the exporter, and transposed already
    if (constant.is_literal || tensor.element != model_import::Element::real || tensor.shape.empty()) continue;
    table.add(name, tensor.shape, tensor.reals);
  }
  const Result<model_import::MapReport> report = map_weights(*model, table.table());
  ASSERT_OK(report);
  size_t named = 0;
  for (const model_import::MappedTensor& tensor : report->tensors) {
    if (!tensor.rule.starts_with("exact name")) continue;
    ++named;
    EXPECT_EQ(tensor.change, 0) << tensor.name << " " << tensor.how;
  }
  EXPECT_GE(named, 2u);
}

INSTANTIATE_TEST_SUITE_P(Golden, WeightsOfOnnx,
                         testing::Values("attention", "conv1d", "convnext", "convolutions", "dropout", "lenet",
                                         "lenet_static", "mlp", "norms", "recommender", "residual", "shuffle",
                                         "squeeze_excite"));

}  // namespace
}  // namespace coterie
