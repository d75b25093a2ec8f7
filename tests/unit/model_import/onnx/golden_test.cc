// Models that PyTorch exported, against what PyTorch computes with them: forward, gradients, and the way back
// to ONNX.
#include <gtest/gtest.h>

#include <set>

#include "model_import/onnx/export_onnx.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"

namespace coterie {
namespace {

using namespace test;

const char* const kCases[] = {"activations",
                              "activations_opset11",
                              "arithmetic",
                              "attention",
                              "attention_opset17",
                              "attention_static",
                              "conv1d",
                              "convnext",
                              "convolutions",
                              "dropout",
                              "gathers",
                              "gelu_tanh",
                              "gru",
                              "gru_initial_state",
                              "lenet",
                              "lenet_static",
                              "lstm",
                              "lstm_bidirectional",
                              "lstm_last_state",
                              "lstm_static",
                              "mlp",
                              "norms",
                              "pools",
                              "recommender",
                              "reductions",
                              "residual",
                              "resizes",
                              "rms_norm",
                              "rnn",
                              "shapes",
                              "shuffle",
                              "squeeze_excite",
                              "tied"};

class GoldenOnnx : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, GoldenOnnx, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(GoldenOnnx, ComputesWhatPyTorchDoes) {
  const auto golden = read_golden(GetParam());
  const std::optional<Model> read = imported(GetParam());
  if (!read) GTEST_SKIP() << "an op is left out of this build";
  const Model& model = *read;
  EXPECT_LT(distance(predicted(model, inputs_for(model, golden), 3), expected_output(model, golden)), 1e-5);
}

TEST_P(GoldenOnnx, ComesBackFromOnnxWithTheSameBits) {
  const auto golden = read_golden(GetParam());
  const std::optional<Model> read = imported(GetParam());
  if (!read) GTEST_SKIP() << "an op is left out of this build";
  const Model& model = *read;
  const Result<Bytes> exported = model_import::export_onnx(model);
  ASSERT_OK(exported);
  Result<model_import::ImportedModel> import = model_import::import_onnx(*exported);
  ASSERT_OK(import);
  const Result<Model> again = Model::load(std::move(import->model));
  ASSERT_OK(again);
  EXPECT_LT(distance(predicted(*again, inputs_for(*again, golden), 3), expected_output(*again, golden)), 1e-5);
  std::multiset<std::vector<float>> before, after;
  for (const Model* each : {&model, &*again}) {
    for (const TensorInfo& tensor : each->graph().tensors) {
      if (!has_payload(tensor.role)) continue;
      const auto values =
          each->parameters().subspan(tensor.payload_offset / sizeof(float), *element_count(tensor.shape));
      (each == &model ? before : after).emplace(values.begin(), values.end());
    }
  }
  EXPECT_EQ(before, after);
}

class GoldenGradient : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, GoldenGradient, testing::Values("mlp", "lenet", "residual", "attention"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(GoldenGradient, IsPyTorchs) {
  const auto golden = read_golden(GetParam());
  const std::optional<Model> read = imported(GetParam());
  if (!read) GTEST_SKIP() << "an op is left out of this build";
  const Model& model = *read;
  expect_gradients(model, golden, 1e-3);
}

}  // namespace
}  // namespace coterie
