// Several outputs, and trainings with a loss for each: coterie_model_output_at, coterie_model_predict_all,
// coterie_model_evaluate_heads, coterie_trainer_head. Apart: an app that asks for none of it does not link it.
#include <algorithm>
#include <string>
#include <vector>

#include "device_sdk/c_api/evaluation.h"
#include "device_sdk/c_api/model_handle.h"
#include "device_sdk/c_api/structs.h"
#include "device_sdk/c_api/trainer_handle.h"
#include "proto/messages/model_outputs.h"

namespace {

using namespace coterie;

// `output`: the name, where it lives long enough.
void fill(coterie_head& head, const HeadResult& known, const std::string& output) {
  coterie_head filled{};
  filled.output = output.c_str();
  filled.loss = to_string(known.loss).data();  // of literals: a 0 is behind each
  filled.weight = static_cast<double>(known.weight);
  filled.rows = known.rows;
  filled.loss_mean = known.loss_mean;
  filled.measure = to_string(known.measure).data();
  filled.value = known.value;
  fill_known_part(head, filled);
}

Status evaluate_heads(const coterie_model& handle, const coterie_dataset* dataset, const coterie_train_options* options,
                      coterie_head* heads, size_t head_count, coterie_evaluation* evaluation) {
  COT_ASSIGN(const Model* model, float_model(handle));
  COT_ASSIGN(const KnownOptions known, train_options_of(options));
  const LossSettings& loss = known.training.loss;
  if (head_count != loss.heads.size() || head_count == 0 || heads == nullptr) {
    return Error(ErrorCode::invalid_argument, "head_count is " + std::to_string(head_count) + ", the options have " +
                                                  std::to_string(loss.heads.size()) + " heads");
  }
  for (size_t i = 0; i < head_count; ++i) COT_TRY(check_size(heads[i], "heads"));
  COT_ASSIGN(const std::vector<uint32_t> tensors, head_tensors(model->graph(), loss));
  std::vector<HeadResult> results;
  COT_ASSIGN(const Evaluation result, evaluate(handle, dataset, known.training, nullptr, &results));
  for (size_t i = 0; i < head_count; ++i) fill(heads[i], results[i], model->graph().tensors[tensors[i]].name);
  if (evaluation != nullptr) coterie::fill(*evaluation, result);
  return {};
}

}  // namespace

extern "C" {

coterie_status coterie_model_output_at(coterie_model* model, size_t index, coterie_tensor* tensor) {
  return with(model, [&]() -> Status {
    if (model->outputs.empty()) model->outputs = model->all_outputs();
    if (index >= model->outputs.size()) {
      return Error(ErrorCode::not_found,
                   "output " + std::to_string(index) + " of " + std::to_string(model->outputs.size()));
    }
    if (tensor == nullptr) return null_argument("tensor");
    COT_TRY(check_size(*tensor, "tensor"));
    const ModelOutput& output = model->outputs[index];
    coterie_tensor filled{};
    filled.name = output.name.c_str();
    filled.type = output.type == DataType::int32 ? COTERIE_TYPE_INT32 : COTERIE_TYPE_FLOAT32;
    filled.rank = output.shape.size();
    filled.shape = output.shape.data();
    filled.elements = elements(output.shape);
    fill_known_part(*tensor, filled);
    return {};
  });
}

coterie_status coterie_model_predict_all(coterie_model* model, const coterie_values* inputs, size_t input_count,
                                         size_t example_count, float* const* outputs, const size_t* output_sizes,
                                         size_t output_count) {
  return with(model, [&]() -> Status {
    if (outputs == nullptr || output_sizes == nullptr) return null_argument("outputs and output_sizes");
    if (output_count > kModelOutputsMax) {
      return Error(ErrorCode::invalid_argument,
                   "output_count is " + std::to_string(output_count) + ", at most " + std::to_string(kModelOutputsMax));
    }
    std::vector<std::span<float>> places;
    for (size_t i = 0; i < output_count; ++i) {
      if (outputs[i] == nullptr) return null_argument("an output");
      places.emplace_back(outputs[i], output_sizes[i]);
    }
    COT_ASSIGN(const auto given, input_spans(model->model, inputs, input_count, example_count));
    if (model->int8 && places.size() != 1) {
      return Error(ErrorCode::invalid_argument,
                   std::to_string(places.size()) + " outputs, the model has 1: it computes in int8");
    }
    if (model->int8) return predict_int8(*model->int8, given, example_count, places[0]);
    const uint32_t batch_size = predict_batch(example_count);
    if (!model->all_predictor || model->all_predictor->batch_size() != batch_size) {
      COT_ASSIGN(model->all_predictor, Predictor::create_of_all(model->model, batch_size));
    }
    return model->all_predictor->run(given, example_count, places);
  });
}

coterie_status coterie_model_evaluate_heads(coterie_model* model, const coterie_dataset* dataset,
                                            const coterie_train_options* options, coterie_head* heads,
                                            size_t head_count, coterie_evaluation* evaluation) {
  return with(model, [&]() -> Status {
    if (evaluation != nullptr) COT_TRY(check_size(*evaluation, "evaluation"));
    return evaluate_heads(*model, dataset, options, heads, head_count, evaluation);
  });
}

coterie_status coterie_trainer_head(coterie_trainer* trainer, size_t index, coterie_head* head) {
  return with(trainer, [&]() -> Status {
    if (head == nullptr) return null_argument("head");
    COT_TRY(check_size(*head, "head"));
    const std::vector<HeadResult> heads = trainer->trainer->heads();
    if (index >= heads.size()) {
      return Error(ErrorCode::not_found, "head " + std::to_string(index) + " of " + std::to_string(heads.size()));
    }
    fill(*head, heads[index], trainer->options.loss.heads[index].output);
    return {};
  });
}

}  // extern "C"
