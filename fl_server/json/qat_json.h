// The job key training.qat (proto/messages/quantised_training.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fl_server/json/json_reader.h"
#include "proto/messages/plan.h"

namespace coterie {

// Ranges are for validate(settings) to judge.
void read_qat(JsonReader& reader, TrainingSettings& settings);
// Left out where there is none: a server of the version before, beside this one, does not know the key.
void add_qat(nlohmann::json& training, const TrainingSettings& settings);

}  // namespace coterie
