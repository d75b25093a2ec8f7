// coterie model why-nan: which op of a training made the first value that is not finite.
#pragma once

#include "tools/cli/model_train.h"

namespace coterie {

// Trains as train_model would, with the same options, and writes nothing. ok: everything stayed finite; failure: a
// value that is not finite was found, and is told; usage: as train_model.
ExitCode explain_non_finite(const TrainCommand& command);

}  // namespace coterie
