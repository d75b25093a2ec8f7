#include "fl_server/json/ranges_json.h"

#include <nlohmann/json.hpp>

#include "proto/messages/range_lanes.h"

namespace coterie {
namespace {

nlohmann::json bins_json(const RangeRules& rules) {
  return {{"exponent_low", rules.exponent_low},
          {"exponent_high", rules.exponent_high},
          {"steps", rules.steps},
          {"positions", rules.positions},
          {"normalise", rules.is_normalised}};
}

}  // namespace

void read_range_bins(JsonReader& reader, RangeRules& rules) {
  std::optional<int32_t> low = rules.exponent_low, high = rules.exponent_high;
  reader.read("exponent_low", low);
  reader.read("exponent_high", high);
  rules.exponent_low = low.value_or(rules.exponent_low);
  rules.exponent_high = high.value_or(rules.exponent_high);
  reader.read("steps", rules.steps);
  reader.read("positions", rules.positions);
  reader.read("normalise", rules.is_normalised);
}

EvaluationRules read_ranges(JsonReader& analytics) {
  EvaluationRules rules;
  EvaluatedModel& model = rules.models.emplace_back();
  analytics.require("model");
  analytics.read("model", model.digest);
  analytics.read("model_bytes", model.bytes);
  RangeRules& own = rules.ranges.emplace();
  analytics.require("tensors");
  analytics.read("tensors", own.tensors);
  read_range_bins(analytics, own);
  return rules;
}

void add_ranges(nlohmann::json& analytics, const AnalyticsSettings& settings) {
  const EvaluationRules& rules = *settings.rules.evaluation;
  analytics["model"] = rules.models.front().digest.hex();
  analytics["model_bytes"] = rules.models.front().bytes;
  analytics["tensors"] = rules.ranges->tensors;
  analytics.update(bins_json(*rules.ranges));
  analytics.erase("source");
}

nlohmann::json ranges_answer(const AnalyticsSettings& settings, std::span<const float> counts, double noise_deviation) {
  const RangeRules& rules = *settings.rules.evaluation->ranges;
  const size_t bins = range_bins(rules);
  nlohmann::json json = {{"schema", kRangesSchema},
                         {"kind", "activation_ranges"},
                         {"model", settings.rules.evaluation->models.front().digest.hex()},
                         {"lane_max", settings.rules.lane_max},
                         {"noise_deviation", noise_deviation},
                         {"tensors", nlohmann::json::array()}};
  json.update(bins_json(rules));
  for (size_t tensor = 0; tensor < rules.tensors.size(); ++tensor) {
    json["tensors"].push_back({{"name", rules.tensors[tensor]}, {"counts", counts.subspan(tensor * bins, bins)}});
  }
  return json;
}

}  // namespace coterie
