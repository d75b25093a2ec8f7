// The models that rounds made, of a job on the admin plane.
#pragma once

#include <map>
#include <vector>

#include "base/result.h"
#include "scheduler/job/records.h"

namespace coterie {

class ModelStore;

// What those of `rounds` made that are done, by version: one question, whatever their number. Some may be gone.
// `rounds`: newest first, of `job`.
Result<std::map<ModelVersion, ModelRecord>> models_of(ModelStore& models, const JobId& job,
                                                      const std::vector<RoundRecord>& rounds);
// The one among `models` that `round` made; null: it made none, or it is gone.
const ModelRecord* model_of(const std::map<ModelVersion, ModelRecord>& models, const RoundRecord& round);

}  // namespace coterie
