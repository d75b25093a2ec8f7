// What `coterie model train` trains and how: shared by the commands that train as it does.
#pragma once

#include "device_sdk/runtime/model.h"
#include "tools/cli/local_files.h"
#include "tools/cli/model_train.h"

namespace coterie {

// What is trained before companions come to it: the model, or the model with its new head. Errors name the file.
Result<Model> body_of(const TrainCommand& command);
// The body with the companions of --lora, if they are asked for.
Result<Model> with_companions(const TrainCommand& command, const Model& body);
// The command's options, completed by what `data` is and the memory budget.
Result<TrainOptions> options_for(const TrainCommand& command, const Model& model, const LocalData& data);

}  // namespace coterie
