#include "tools/model/evaluate.h"

#include <optional>

#include "device_sdk/runtime/cluster_models.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/loss_rule.h"
#include "device_sdk/runtime/metrics.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/narrow_model.h"
#include "proto/messages/model_clusters.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 64;

Result<ModelScore> evaluate(const Model& model, DatasetSource& examples, const LossSettings& loss) {
  COT_ASSIGN(Evaluator evaluator, Evaluator::create(model, loss, kBatch));
  ValueMetrics values;
  OutputSink sink;
  const bool has_distance = is_distance(loss_of_own_output(loss));
  if (has_distance) {
    sink = [&values](std::span<const float> outputs, std::span<const float> targets) {
      for (size_t i = 0; i < targets.size(); ++i) values.add(outputs[i], targets[i]);
    };
  }
  ModelScore score;
  COT_ASSIGN(static_cast<Evaluation&>(score), evaluator.run(model.parameters(), examples, sink));
  score.heads = evaluator.heads();
  if (!has_distance) return score;
  score.mae = values.mean_absolute_error() * static_cast<double>(examples.header().target.scale);
  score.r2 = values.r2();
  return score;
}

}  // namespace

Result<ModelScore> evaluate(Bytes model_file, Bytes dataset_file, const LossSettings& loss) {
  COT_ASSIGN(const Model given, Model::load(std::move(model_file)));
  COT_ASSIGN(DatasetSource examples, DatasetSource::load(std::move(dataset_file)));
  const uint32_t count = cluster_count(given.graph());
  if (count == 1) return evaluate(given, examples, loss);
  std::optional<ModelScore> best;
  for (uint32_t cluster = 0; cluster < count; ++cluster) {
    COT_ASSIGN(const Model model, cluster_model(given, cluster));
    COT_ASSIGN(const ModelScore own, evaluate(model, examples, loss));
    if (!best || own.loss_mean < best->loss_mean) best = own;
  }
  return *best;
}

Result<std::vector<ModelScore>> evaluate_widths(Bytes model_file, const Bytes& dataset_file,
                                                const TrainingSettings& training) {
  std::vector<ModelScore> scores;
  if (training.widths.empty()) return scores;
  COT_ASSIGN(const Model whole, Model::load(std::move(model_file)));
  COT_ASSIGN(DatasetSource examples, DatasetSource::load(dataset_file));
  for (size_t i = 1; i < training.widths.size(); ++i) {
    COT_ASSIGN(const NarrowModel narrow, narrow_model(whole, training.widths[i]));
    COT_ASSIGN(const ModelScore score, evaluate(narrow.model, examples, loss_of(training)));
    scores.push_back(score);
  }
  return scores;
}

}  // namespace coterie
