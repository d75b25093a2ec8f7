#include "fl_server/evaluation/model_evaluator.h"

#include <cmath>
#include <optional>
#include <vector>

#include "device_sdk/runtime/augment.h"
#include "device_sdk/runtime/cluster_models.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/evaluation_fit.h"
#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/fake_quantise.h"
#include "device_sdk/runtime/lora.h"
#include "device_sdk/runtime/loss_heads.h"
#include "device_sdk/runtime/loss_rule.h"
#include "device_sdk/runtime/metrics.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/seal.h"
#include "device_sdk/runtime/train_options.h"

namespace coterie {
namespace {

// A larger batch is no faster here, and its arena is made, and zeroed, in every round.
constexpr uint32_t kBatch = 16;

// A column of numbers read as class numbers, or the other way round, would give figures that mean nothing.
Status check_target(const DatasetHeader& header, TargetKind target) {
  const bool is_number = header.target.type == ColumnType::float32;
  if (is_number == (target == TargetKind::values)) return {};
  return Error(ErrorCode::invalid_argument, std::string("the targets of data set ") + header.name + " are " +
                                                (is_number ? "numbers" : "labels") + ", and training.target is " +
                                                std::string(to_string(target)));
}

// A head that had no row has no figures. `unit`: of the targets' numbers.
std::vector<EvaluatedHead> evaluated(const std::vector<HeadResult>& results, double unit) {
  std::vector<EvaluatedHead> heads;
  for (const HeadResult& result : results) {
    EvaluatedHead& head = heads.emplace_back();
    head.output = result.output;
    if (result.rows == 0) continue;
    head.loss = result.loss_mean;
    if (result.measure == HeadMeasure::accuracy) head.accuracy = result.value;
    if (result.measure == HeadMeasure::mean_absolute_error) head.mae = result.value * unit;
  }
  return heads;
}

Result<ModelEvaluation> evaluate(const Model& model, const Bytes& dataset_file, const TrainingSettings& training) {
  COT_ASSIGN(DatasetSource dataset, DatasetSource::load(dataset_file));
  COT_TRY(check_target(dataset.header(), training.target));
  const LossSettings loss = loss_of(training);
  COT_ASSIGN(Evaluator evaluator, Evaluator::create(model, loss, kBatch));
  COT_ASSIGN(std::optional<AugmentedSource> images, judged(dataset, model, loss, training.augment));
  ExampleSource& examples = images ? static_cast<ExampleSource&>(*images) : dataset;
  const LossSettings own = loss_of_own_output(loss);
  const double unit = static_cast<double>(dataset.header().target.scale);
  if (!is_distance(own)) {
    COT_ASSIGN(const Evaluation evaluation, evaluator.run(model.parameters(), examples));
    const bool has_labels = own.target == TargetKind::labels;
    return ModelEvaluation{.loss = evaluation.loss_mean,
                           .accuracy = has_labels ? std::optional(evaluation.accuracy) : std::nullopt,
                           .heads = evaluated(evaluator.heads(), unit)};
  }
  ValueMetrics values;
  const auto add = [&values](std::span<const float> outputs, std::span<const float> targets) {
    for (size_t i = 0; i < targets.size(); ++i) values.add(outputs[i], targets[i]);
  };
  COT_ASSIGN(const Evaluation evaluation, evaluator.run(model.parameters(), examples, add));
  return ModelEvaluation{.loss = evaluation.loss_mean,
                         .mae = values.mean_absolute_error() * unit,
                         .r2 = values.r2(),
                         .heads = evaluated(evaluator.heads(), unit)};
}

}  // namespace

// Among clusters it is that which loses least, as a device would choose. One that is not finite is told: no version
// with it may be released.
Result<ModelEvaluation> evaluate_model(const Bytes& model_file, const Bytes& dataset_file,
                                       const TrainingSettings& training) {
  COT_ASSIGN(const Model given, Model::load(model_file));
  COT_ASSIGN(std::vector<Model> models, cluster_models(given, training));
  if (models.empty()) models.push_back(given);
  std::optional<ModelEvaluation> best;
  for (const Model& model : models) {
    COT_ASSIGN(const ModelEvaluation own, evaluate(model, dataset_file, training));
    if (!std::isfinite(own.loss)) return own;
    if (!best || own.loss < best->loss) best = own;
  }
  return *best;
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
  COT_ASSIGN(const Model trained, model_to_train(model, training));
  COT_TRY(trainable_tensors(trained.graph(), options));
  COT_TRY(augmentation_for(model, options.loss, options.augment));
  if (options.qat) COT_TRY(rounded_tensors(trained, options.qat->parts));
  COT_TRY(Evaluator::create(model, options.loss, kBatch));
  return {};
}

Status check_evaluated_model(const Bytes& model_file, const AnalyticsRules& rules) {
  COT_ASSIGN(const Model model, Model::load(model_file));
  return check_evaluated(rules, model);
}

}  // namespace coterie
