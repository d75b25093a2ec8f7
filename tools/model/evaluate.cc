#include "tools/model/evaluate.h"

#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/loss_rule.h"
#include "device_sdk/runtime/metrics.h"
#include "device_sdk/runtime/model.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 64;

}  // namespace

Result<ModelScore> evaluate(Bytes model_file, Bytes dataset_file, const LossSettings& loss) {
  COT_ASSIGN(const Model model, Model::load(std::move(model_file)));
  COT_ASSIGN(DatasetSource examples, DatasetSource::load(std::move(dataset_file)));
  COT_ASSIGN(Evaluator evaluator, Evaluator::create(model, loss, kBatch));
  ValueMetrics values;
  OutputSink sink;
  if (is_distance(loss)) {
    sink = [&values](std::span<const float> outputs, std::span<const float> targets) {
      for (size_t i = 0; i < targets.size(); ++i) values.add(outputs[i], targets[i]);
    };
  }
  ModelScore score;
  COT_ASSIGN(static_cast<Evaluation&>(score), evaluator.run(model.parameters(), examples, sink));
  if (!is_distance(loss)) return score;
  score.mae = values.mean_absolute_error() * static_cast<double>(examples.header().target.scale);
  score.r2 = values.r2();
  return score;
}

}  // namespace coterie
