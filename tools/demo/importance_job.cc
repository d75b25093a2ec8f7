#include "tools/demo/importance_job.h"

#include "model_io/contract_targets.h"
#include "proto/messages/evaluation_lanes.h"
#include "proto/messages/model.h"
#include "scheduler/job/analytics_settings.h"
#include "secure/crypto/digest.h"
#include "tools/explain/feature_names.h"

namespace coterie {

Result<AnalyticsSettings> importance_of_columns(const AnalyticsChoice& choice, const InputContract& contract,
                                                const Bytes& model, uint32_t values) {
  COT_TRY(check_one_target(contract, "--analytics importance"));
  if (contract.target.classes.size() < 2) {
    return Error(
        ErrorCode::invalid_argument,
        "--analytics importance is of a model that tells classes, and the target of " + contract.name + " has none");
  }
  const Shape& shape = contract.inputs.at(0).shape;
  COT_ASSIGN(const uint64_t numbers, element_count(shape));
  AnalyticsSettings analytics;
  analytics.rules = {.kind = AnalyticsKind::evaluation,
                     .input_values = static_cast<uint32_t>(numbers),
                     .values_max = values,
                     .lane_max = evaluation_lane_max(values),
                     .evaluation = EvaluationRules{.models = {{content_digest(model), model.size()}}}};
  ImportanceRules& rules = analytics.rules.evaluation->importance.emplace();
  rules.repeats = choice.repeats;
  for (const Feature& feature : features_of(shape, &contract)) {
    rules.columns.push_back({static_cast<uint32_t>(feature.first), static_cast<uint32_t>(feature.count)});
    analytics.permuted.push_back(feature.name);
  }
  analytics.classes = contract.target.classes;
  return analytics;
}

}  // namespace coterie
