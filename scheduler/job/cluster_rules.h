// What a job with clusters (training.personal of kind clusters, proto/messages/model_clusters.h) cannot be combined
// with.
#pragma once

#include <vector>

#include "scheduler/job/horizontal_settings.h"
#include "scheduler/job/settings_checker.h"

namespace coterie {

// Each problem names the other setting and the reason. Nothing is asked of other jobs.
void check_clusters(const HorizontalSettings& settings, SettingsChecker& check);

// How updates say, in the sum alone, which cluster they are of: one scalar each. None of other jobs.
std::vector<ScalarRule> cluster_scalars(const TrainingSettings& training);

}  // namespace coterie
