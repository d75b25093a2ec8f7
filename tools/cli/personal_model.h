// coterie device personal-model: a published model with what a device on this machine keeps to itself.
#pragma once

#include <string>

#include "tools/cli/exit_code.h"

namespace coterie {

struct PersonalModelOptions {
  std::string state_dir, job, model, output;
};
ExitCode write_personal_model(const PersonalModelOptions& options);

}  // namespace coterie
