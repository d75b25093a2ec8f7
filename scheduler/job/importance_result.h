// How much a model needs each column, by what devices found (proto/messages/importance_lanes.h): the mean rise of an
// example where the column's values are permuted among a device's examples, weighted by examples, with intervals in
// which devices are the draws (ratio_estimate.h). Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/job/analytics_settings.h"
#include "scheduler/job/ratio_estimate.h"

namespace coterie {

class EvaluationLayout;

struct ColumnImportance {
  std::string name;
  // The first is of the mean cross-entropy, the second of the share of examples that the model has wrong: means over
  // the orders that were drawn. None: no examples.
  std::optional<RatioEstimate> loss_rise, error_rise;
};

// One a column, in the settings' order; empty without importance. `counts` is a table of this layout.
std::vector<ColumnImportance> importance_of(const AnalyticsSettings& analytics, const EvaluationLayout& layout,
                                            std::span<const float> counts);

}  // namespace coterie
