// The job key training.watch (proto/messages/watch_settings.h), and what came of it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fl_server/json/json_reader.h"
#include "proto/messages/plan.h"
#include "scheduler/job/watch_outcome.h"

namespace coterie {

// Ranges and names are for validate(settings) to judge.
void read_watch(JsonReader& reader, TrainingSettings& settings);
// Left out where there is none: a server of the version before, beside this one, does not know the key.
void add_watch(nlohmann::json& training, const TrainingSettings& settings);

// {"looked": 0.2, "hits": [{"check": "dead_relu", "layer": "conv1", "share": 0.1}]}; no layer: of the training as a
// whole. With noise "error" beside them; shares are as they are, below 0 and above 1, too.
nlohmann::json to_json(const WatchOutcome& outcome);

}  // namespace coterie
