// The ranges of a job's `analytics` of kind activation_ranges as JSON, and the sums that came of them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "fl_server/json/json_reader.h"
#include "scheduler/job/analytics_settings.h"

namespace coterie {

inline constexpr std::string_view kRangesSchema = "coterie.activation_ranges.v1";

// exponent_low, exponent_high, steps, positions and normalise; those that are absent stay. The same keys are in what
// came of them.
void read_range_bins(JsonReader& reader, RangeRules& rules);

// Model and tensors, too. Behind these lane_max is that of such rules.
EvaluationRules read_ranges(JsonReader& analytics);
void add_ranges(nlohmann::json& analytics, const AnalyticsSettings& settings);

// "schema": kRangesSchema. `counts` has the table's lanes, `noise_deviation` is that of each. Precondition: the
// settings are valid, of kind activation_ranges.
nlohmann::json ranges_answer(const AnalyticsSettings& settings, std::span<const float> counts, double noise_deviation);

}  // namespace coterie
