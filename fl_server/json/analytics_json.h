// A job's `analytics` as JSON, and what came of them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fl_server/json/json_reader.h"
#include "scheduler/job/analytics_result.h"
#include "scheduler/job/evaluation_result.h"
#include "scheduler/job/heavy_hitters.h"
#include "scheduler/job/horizontal_settings.h"

namespace coterie {

// Behind these the job's other settings are read: what analytics make of them are the defaults of those.
void read_analytics(JsonReader& reader, HorizontalSettings& settings);
void add_analytics(nlohmann::json& job, const HorizontalSettings& settings);

// "schema": "coterie.evaluation_result.v1", of kind evaluation
nlohmann::json to_json(const AnalyticsSettings& analytics, const EvaluationResult& result);

// "schema": "coterie.analytics_result.v1", of kind heavy_hitters. `noise_deviation`: of each count
nlohmann::json to_json(const AnalyticsSettings& analytics, const HeavyHitters& found, double noise_deviation);

// "schema": "coterie.analytics_result.v1", of the others
nlohmann::json to_json(const AnalyticsSettings& analytics, const AnalyticsResult& result);

}  // namespace coterie
