#include "tools/explain/asked_model.h"

#include <algorithm>

namespace coterie {
namespace {

constexpr uint32_t kBatch = 16;  // backward keeps what forward computed

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, "cannot be explained: " + what); }

}  // namespace

Result<AskedModel> AskedModel::create(const Model& model, GoOn go_on) {
  if (model.graph().inputs.size() != 1) return bad("the model has several inputs");
  if (model.input_type() != DataType::float32) return bad("the model's input is not of numbers (float32)");
  if (model.output_shape().size() != 1) return bad("the model's output is not one row an example");
  if (model.type(model.graph().output) != DataType::float32) return bad("the model's output is not float32");
  if (elements(model.input_shape()) > kExplainedValuesMax) {
    return Error(ErrorCode::too_large, "cannot be explained: an input has more than 2^22 values");
  }
  COT_ASSIGN(Gradients gradients, Gradients::create(model, {model.graph().inputs[0]}, kBatch));
  COT_ASSIGN(Predictor predictor, Predictor::create(model, kBatch));
  return AskedModel(model, std::move(gradients), std::move(predictor), std::move(go_on));
}

Result<std::vector<float>> AskedModel::answers(std::span<const float> inputs) {
  if (go_on_) {
    COT_TRY(go_on_());
  }
  const uint64_t count = inputs.size() / input_size();
  std::vector<float> rows(count * outputs());
  COT_TRY(predictor_.run(std::span(&inputs, 1), count, rows));
  return rows;
}

Result<std::vector<double>> AskedModel::scores(std::span<const float> inputs, uint32_t picked) {
  COT_ASSIGN(const std::vector<float> rows, answers(inputs));
  std::vector<double> scores;
  for (size_t i = picked; i < rows.size(); i += outputs()) scores.push_back(static_cast<double>(rows[i]));
  return scores;
}

Result<std::vector<float>> AskedModel::gradients(std::span<const float> inputs, uint32_t picked) {
  const uint64_t count = inputs.size() / input_size();
  std::vector<float> ones(count * outputs());
  for (uint64_t i = 0; i < count; ++i) ones[i * outputs() + picked] = 1;
  return gradients(inputs, ones);
}

Result<std::vector<float>> AskedModel::gradients(std::span<const float> inputs,
                                                 std::span<const float> output_gradients) {
  std::vector<float> slopes;
  const uint64_t count = inputs.size() / input_size();
  for (uint64_t from = 0; from < count; from += kBatch) {
    if (go_on_) {
      COT_TRY(go_on_());
    }
    const uint64_t some = std::min<uint64_t>(kBatch, count - from);
    COT_TRY(gradients_.run(inputs.subspan(from * input_size(), some * input_size()),
                           output_gradients.subspan(from * outputs(), some * outputs())));
    const std::span<const float> made = gradients_.gradient(0);
    slopes.insert(slopes.end(), made.begin(), made.end());
  }
  return slopes;
}

}  // namespace coterie
