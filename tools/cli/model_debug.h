// coterie model debug: a training step by step, or what was recorded of one, by commands on standard input.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/model_train.h"

namespace coterie {

// `command.model` is a model file, trained as train_model would, or a folder that train_model recorded into. `given`:
// the options that were given, by name: a folder has all that they say, and goes with none. ok: every command could be
// carried out; failure: one could not, in a script; usage: as train_model; interrupted: a signal asked for the end.
ExitCode debug_model(const TrainCommand& command, const std::vector<std::string>& given);

}  // namespace coterie
