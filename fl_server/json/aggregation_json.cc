#include "fl_server/json/aggregation_json.h"

#include <nlohmann/json.hpp>

#include "aggregation/robust/registry.h"
#include "fl_server/json/readable_float.h"

namespace coterie {

void read_aggregation(JsonReader reader, HorizontalSettings& settings) {
  const std::vector<std::string_view> names = aggregation_names();
  size_t rule = 0;
  reader.read_choice("rule", names, rule);
  AggregationSettings& aggregation = settings.aggregation;
  aggregation = AggregationSettings::of(names[rule]);
  if (aggregation.keeps_updates()) settings.update.weight_max = 1;
  for (size_t i = 0; i < aggregation.values.size(); ++i) {
    reader.read(aggregation.rule->settings[i].name, aggregation.values[i]);
  }
  reader.finish();
}

nlohmann::json to_json(const AggregationSettings& aggregation) {
  if (!aggregation.keeps_updates()) return nullptr;
  nlohmann::json json = {{"rule", aggregation.name()}};
  for (size_t i = 0; i < aggregation.values.size(); ++i) {
    json[aggregation.rule->settings[i].name] = readable(aggregation.values[i]);
  }
  return json;
}

}  // namespace coterie
