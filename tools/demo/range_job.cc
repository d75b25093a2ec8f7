#include "tools/demo/range_job.h"

#include "device_sdk/runtime/int8/int8_layers.h"
#include "model_io/input_contract.h"
#include "proto/messages/model.h"
#include "proto/messages/range_lanes.h"
#include "scheduler/job/analytics_settings.h"

namespace coterie {
namespace {

constexpr uint32_t kSteps = 4, kNoisySteps = 2;  // unless said: what lies in fewer bins stands out of noise further

}  // namespace

Result<AnalyticsSettings> ranges_of_model(const AnalyticsChoice& choice, const InputContract& contract,
                                          const Bytes& file, uint32_t values, bool has_noise) {
  COT_ASSIGN(const Model model, Model::load(file));
  const Result<Int8Layers> layers = int8_layers(model, Int8Stage::trained);
  if (!layers) return layers.error().with_context("--analytics activation_ranges");
  COT_ASSIGN(const uint64_t numbers, element_count(contract.inputs.at(0).shape));
  AnalyticsSettings analytics;
  AnalyticsRules& rules = analytics.rules;
  rules = {.kind = AnalyticsKind::activation_ranges,
           .input_values = static_cast<uint32_t>(numbers),
           .values_max = values,
           .evaluation = EvaluationRules{.models = {{model.digest(), file.size()}}}};
  RangeRules& own = rules.evaluation->ranges.emplace();
  for (const uint32_t tensor : int8_grid_tensors(*layers)) own.tensors.push_back(model.graph().tensors[tensor].name);
  own.steps = choice.steps > 0 ? choice.steps : has_noise ? kNoisySteps : kSteps;
  rules.lane_max = range_lane_max(own, values);
  return analytics;
}

}  // namespace coterie
