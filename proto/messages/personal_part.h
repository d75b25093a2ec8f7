// Which of a model's values are each device's own, by a job's PersonalSettings (personal_settings.h). Server and device
// ask the same functions: no such value is in an update, and none moves the server's model.
//
//   parameters        those whose name matches, or that are a batch norm's scale or shift (norms); some may be frozen
//   their statistics  the running mean and variance of a norm whose scale or shift matches, or of every norm (norms)
#pragma once

#include <vector>

#include "base/result.h"
#include "proto/messages/personal_settings.h"
#include "proto/messages/running_statistics.h"
#include "proto/messages/trained_values.h"

namespace coterie {

// A mark for each tensor of the graph, running statistics with them; none of settings of another kind than `part`.
// `trained`: trained_tensors of the job, which changes no mark. invalid_argument if a pattern matches no parameter, the
// model has no batch norm that `norms` could name, all that is personal is frozen, or all that is trained is personal.
Result<std::vector<bool>> personal_tensors(const ModelGraph& graph, const PersonalSettings& settings,
                                           const std::vector<bool>& trained);

// The values that a device keeps, in the flat vector of so many: the part, or all of them; none, where the training has
// no personal settings, or clusters. Errors: as above, and those of trained_tensors.
Result<ValueSelection> personal_values(const ModelGraph& graph, const TrainingSettings& training,
                                       uint64_t model_values);

// The names of the parameters among them; of `part` alone. Errors: likewise.
Result<std::vector<std::string>> personal_parameter_names(const ModelGraph& graph, const TrainingSettings& training);

// The running statistics that training moves and updates have: running_statistics() but for those that are personal.
std::vector<RunningStatistics> shared_statistics(const ModelGraph& graph, const TrainingSettings& training);

}  // namespace coterie
