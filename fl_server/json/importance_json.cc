#include "fl_server/json/importance_json.h"

#include <nlohmann/json.hpp>

namespace coterie {

nlohmann::json or_null(const std::optional<double>& value) { return value ? nlohmann::json(*value) : nlohmann::json(); }

nlohmann::json to_json(const std::optional<RatioEstimate>& estimate) {
  if (!estimate) return {};
  return {{"value", estimate->value}, {"low", or_null(estimate->low)}, {"high", or_null(estimate->high)}};
}

void read_importance(JsonReader& analytics, AnalyticsSettings& settings) {
  if (!analytics.has("importance")) return;
  JsonReader own = analytics.object("importance");
  ImportanceRules& rules = settings.rules.evaluation->importance.emplace();
  own.read("repeats", rules.repeats);
  own.require("columns");
  for (JsonReader& column : own.objects("columns")) {
    column.require("name");
    column.read("name", settings.permuted.emplace_back());
    column.require("feature");
    PermutedColumn& read = rules.columns.emplace_back();
    column.read("feature", read.feature);
    column.read("width", read.width);
    column.finish();
  }
  own.finish();
}

void add_importance(nlohmann::json& analytics, const AnalyticsSettings& settings) {
  if (!settings.rules.evaluation->importance) return;
  const ImportanceRules& rules = *settings.rules.evaluation->importance;
  nlohmann::json& own = analytics["importance"];
  own = {{"repeats", rules.repeats}, {"columns", nlohmann::json::array()}};
  for (size_t i = 0; i < rules.columns.size(); ++i) {
    own["columns"].push_back(
        {{"name", settings.permuted[i]}, {"feature", rules.columns[i].feature}, {"width", rules.columns[i].width}});
  }
}

nlohmann::json to_json(const AnalyticsSettings& settings, std::span<const ColumnImportance> columns) {
  const ImportanceRules& rules = *settings.rules.evaluation->importance;
  nlohmann::json json = {{"repeats", rules.repeats}, {"columns", nlohmann::json::array()}};
  for (size_t i = 0; i < columns.size(); ++i) {
    json["columns"].push_back({{"name", columns[i].name},
                               {"feature", rules.columns[i].feature},
                               {"width", rules.columns[i].width},
                               {"loss_rise", to_json(columns[i].loss_rise)},
                               {"error_rise", to_json(columns[i].error_rise)}});
  }
  return json;
}

}  // namespace coterie
