// One operator at a time: what its definition says by plain loops, beside the graph's answer (interpreted) and the
// model's (computed).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "model_import/interpret/interpret.h"
#include "model_import/mslite/import_mslite.h"
#include "tests/unit/model_import/mslite/by_hand.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"

namespace coterie::test {

// A file whose input 0 is made by `make`, which gives the output's tensor; `expected` computes that.
struct Case {
  const char* name;
  std::vector<int32_t> input;
  std::function<uint32_t(MsliteBuild&, uint32_t)> make;
  std::function<Numbers(const Numbers&)> expected;
};

inline Numbers inputs_of(size_t count) {
  Numbers values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<double>((i * 29 + 5) % 61) / 16 - 1.9);
  return values;
}

inline void expect_all_agree(const Case& each) {
  SCOPED_TRACE(each.name);
  MsliteBuild build;
  const uint32_t x = build.value("x", each.input);
  const uint32_t made = each.make(build, x);
  // A model has something to train: a layer behind it, of all of its numbers.
  int32_t numbers = 1;
  for (const int32_t dimension : build.shape(made)) numbers *= dimension;
  const uint32_t dense = build.weights("dense", {8, numbers}), y = build.value("last", {1, 8});
  build.op(MsliteOp::dense, {made, dense}, {y}, [](auto& f) { return ms::CreateDense(f); });
  const MsliteModel model = build.model({x}, {y});
  ASSERT_FALSE(model.operators.empty());
  size_t count = 1;
  for (const int32_t dimension : each.input) count *= static_cast<size_t>(dimension);
  const Shape shape(each.input.begin(), each.input.end());
  const Numbers values = inputs_of(count);
  const Numbers own = each.expected(values);
  ASSERT_EQ(own.size(), static_cast<size_t>(numbers));
  const Numbers expected = multiplied(own, numbers, 8);

  const Result<model_import::Graph> graph = model_import::make_graph(model);
  ASSERT_OK(graph);
  const auto interpreted =
      model_import::interpret(*graph, {{"x", {model_import::Element::real, shape, values}}}, {graph->outputs[0].name});
  ASSERT_OK(interpreted);
  const model_import::Array& by_graph = interpreted->at(graph->outputs[0].name);
  ASSERT_EQ(by_graph.values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(by_graph.values[i], expected[i], 1e-6 * std::max(1.0, std::fabs(expected[i]))) << i;
  }

  const Result<model_import::ImportedModel> imported = model_import::import_mslite(model);
  ASSERT_OK(imported);
  const Result<Model> loaded = Model::load(imported->model);
  if (!loaded && loaded.error().message().find("this build has no") != std::string::npos) return;
  ASSERT_OK(loaded);
  EXPECT_FALSE(is_nhwc(*loaded, "input_layout"));  // the file's own order
  const std::vector<float> by_model = predicted(*loaded, {{shape, {values.begin(), values.end()}}}, 1);
  ASSERT_EQ(by_model.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(by_model[i]), expected[i], 1e-5 * std::max(1.0, std::fabs(expected[i]))) << i;
  }
}

}  // namespace coterie::test
