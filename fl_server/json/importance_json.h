// The `importance` of a job's `analytics` as JSON, and what came of it. Estimates with their intervals.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>

#include "fl_server/json/json_reader.h"
#include "scheduler/job/analytics_settings.h"
#include "scheduler/job/importance_result.h"

namespace coterie {

// Null where there is none.
nlohmann::json or_null(const std::optional<double>& value);
nlohmann::json to_json(const std::optional<RatioEstimate>& estimate);

// Precondition: the rules have an evaluation. A job without the key has no importance.
void read_importance(JsonReader& analytics, AnalyticsSettings& settings);
void add_importance(nlohmann::json& analytics, const AnalyticsSettings& settings);

// In the job's order. Precondition: the settings have importance, with these columns.
nlohmann::json to_json(const AnalyticsSettings& settings, std::span<const ColumnImportance> columns);

}  // namespace coterie
