// coterie model fine-tune: a model trained on examples of this machine, and written only if it is better for them.
#pragma once

#include "tools/cli/model_train.h"

namespace coterie {

// ok: it is better, and written; failure: it is not, and nothing is.
ExitCode fine_tune_model(const TrainCommand& command, float held_out_share);

}  // namespace coterie
