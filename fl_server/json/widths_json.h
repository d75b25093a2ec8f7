// The job key training.widths (proto/messages/model_widths.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fl_server/json/json_reader.h"
#include "proto/messages/plan.h"

namespace coterie {

// How many there are, and in which order, is for validate(settings) to judge.
void read_widths(JsonReader& reader, TrainingSettings& settings);
// Left out where there are none: a server of the version before, beside this one, does not know the key.
void add_widths(nlohmann::json& training, const TrainingSettings& settings);

}  // namespace coterie
