// The input contract of a data set, as steps name it.
#pragma once

#include "fl_server/serving/serving_step.h"
#include "model_io/input_contract.h"

namespace coterie {

// Errors name the path.
Result<InputContract> read_step_contract(const StepFiles& files, const std::string& path);

}  // namespace coterie
