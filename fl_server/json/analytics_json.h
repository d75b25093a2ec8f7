// A job's `analytics` as JSON, and what came of them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

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

// What the counts of rounds say, one of these. `blocks`: of the rounds that are done, at least one; one for all of them
// where no round asks anew. Noise of a count: `noise` of all rounds together, `noise_of_round` of the noisiest one.
// Precondition: the settings are valid, and there are analytics.
nlohmann::json analytics_answer(const HorizontalSettings& settings, std::span<const std::vector<float>> blocks,
                                double noise, double noise_of_round);

}  // namespace coterie
