// What a job with widths (training.widths, proto/messages/model_widths.h) cannot be combined with.
#pragma once

#include <vector>

#include "proto/messages/model.h"
#include "scheduler/job/horizontal_settings.h"
#include "scheduler/job/settings_checker.h"

namespace coterie {

// Each problem names the other setting and the reason. Nothing is asked of other jobs.
void check_widths(const HorizontalSettings& settings, SettingsChecker& check);

// Likewise of the job's model: that it can be cut, and by each class to another size.
Problems width_problems(const HorizontalSettings& settings, const ModelGraph& graph);

// How updates say, in the sum alone, what of the model they are of: a scalar for each width but the narrowest, whose
// part all have. None of other jobs.
std::vector<ScalarRule> width_scalars(const TrainingSettings& training);

}  // namespace coterie
