// Steps around a served model, from their file.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "fl_server/serving/serving_steps.h"

namespace coterie {

// The files that it names are looked for beside it. Errors name the file: os::read_file, ServingSteps::parse.
Result<std::shared_ptr<const ServingSteps>> read_steps_file(const std::string& path);

}  // namespace coterie
