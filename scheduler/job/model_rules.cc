#include "scheduler/job/model_rules.h"

#include "proto/messages/analytics_lanes.h"
#include "proto/messages/personal_part.h"
#include "proto/messages/trained_values.h"
#include "scheduler/job/aggregation_rules.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/buffered_rules.h"
#include "scheduler/job/compression_rules.h"
#include "scheduler/job/round_release.h"
#include "scheduler/job/watch_rules.h"
#include "scheduler/job/width_rules.h"

namespace coterie {
namespace {

// What can be said of a job's noise only when its model is known.
Problems noise_problems(const HorizontalSettings& settings, const ModelValues& values) {
  if (!settings.privacy.has_noise()) return {};
  if (Problems problems = validate_with_model(settings, values.step_count()); !problems.empty()) return problems;
  JobRecord job;
  job.spec.kind = settings;
  job.value_count = values.whole;
  job.trained_value_count = values.trained;
  // Against an empty ledger: a job of which not even the first round fits its budget would wait for ever.
  const Result<std::string> refusal = why_no_release(Ledger(), job);
  if (refusal && refusal->empty()) return {};
  return {{"/privacy/epsilon_budget", "not one round fits: " + (refusal ? *refusal : refusal.error().message())}};
}

}  // namespace

Problems validate_with_graph(const HorizontalSettings& settings, const ModelGraph& graph) {
  const size_t moving = shared_statistics(graph, settings.training).size();
  if (settings.update.compression.is_on() && moving > 0) {
    return {{"/model", "has " + std::to_string(moving) +
                           " batch norms whose running statistics follow the devices' data, which update.compression "
                           "has no place for: freeze those norms in the model, use layer or group norms, or take the "
                           "compression out"}};
  }
  if (Problems problems = buffered_problems(settings, graph); !problems.empty()) return problems;
  if (Problems problems = width_problems(settings, graph); !problems.empty()) return problems;
  if (!settings.privacy.has_noise() || moving == 0) return {};
  return {{"/model", "has " + std::to_string(moving) +
                         " batch norms whose running statistics follow the devices' data, and noise does not cover "
                         "them: freeze those norms in the model, use layer or group norms, or take the noise out"}};
}

Result<ModelValues> values_of(const HorizontalSettings& settings, const ModelGraph& graph, uint64_t value_count) {
  if (settings.analytics && settings.analytics->asks_anew()) {
    return ModelValues(value_count, lane_count(rules_of(*settings.analytics)));
  }
  return values_of(settings.training, graph, value_count);
}

Result<ModelValues> values_of(const TrainingSettings& training, const ModelGraph& graph, uint64_t value_count) {
  COT_ASSIGN(const uint64_t trained, trained_value_count(graph, training));
  return ModelValues(value_count, trained);
}

Problems validate_for_model(const HorizontalSettings& settings, const ModelGraph& graph, const ModelValues& values) {
  if (Problems problems = noise_problems(settings, values); !problems.empty()) return problems;
  if (Problems problems = validate_with_graph(settings, graph); !problems.empty()) return problems;
  if (Problems problems = compression_problems(settings, values.step_count()); !problems.empty()) return problems;
  if (Problems problems = watch_problems(settings, graph); !problems.empty()) return problems;
  return validate_kept_updates(settings, values.step_count());
}

Statistics default_statistics(const ModelGraph& graph, const TrainingSettings& training) {
  return shared_statistics(graph, training).empty() ? Statistics::averaged : Statistics::pooled;
}

}  // namespace coterie
