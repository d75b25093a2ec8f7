#include "fl_server/evaluation/model_evaluator.h"

#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/seal.h"
#include "device_sdk/runtime/train_options.h"

namespace coterie {
namespace {

// A larger batch is no faster here, and its arena is made, and zeroed, in every round.
constexpr uint32_t kBatch = 16;

}  // namespace

Result<ModelEvaluation> evaluate_model(const Bytes& model_file, const Bytes& dataset_file,
                                       const TrainingSettings& training) {
  COT_ASSIGN(const Model model, Model::load(model_file));
  COT_ASSIGN(DatasetSource dataset, DatasetSource::load(dataset_file));
  COT_ASSIGN(Evaluator evaluator, Evaluator::create(model, loss_of(training), kBatch));
  COT_ASSIGN(const Evaluation evaluation, evaluator.run(model.parameters(), dataset));
  return ModelEvaluation{evaluation.loss_mean, evaluation.accuracy};
}

Status check_model(const Bytes& model_file) {
  COT_TRY(check_seal(model_file));
  COT_ASSIGN(const Model model, Model::load(model_file));
  return {};
}

Status check_training(const Bytes& model_file, const TrainingSettings& training) {
  COT_ASSIGN(const Model model, Model::load(model_file));
  const TrainOptions options = options_of(training, 0);
  COT_TRY(check_options(options));
  COT_TRY(trainable_tensors(model.graph(), options));
  COT_TRY(Evaluator::create(model, options.loss, kBatch));
  return {};
}

}  // namespace coterie
