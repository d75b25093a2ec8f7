// coterie model profile: where the time and the memory of training go.
#pragma once

#include <string>

#include "device_sdk/runtime/train_options.h"
#include "tools/cli/exit_code.h"

namespace coterie {

struct ProfileOptions {
  std::string model;      // file
  TrainOptions training;  // loss, optimizer, batch_size, freeze
  uint32_t steps = 20;
  std::string trace;  // file of the timeline (tools/model/training_trace.h); empty: none
  bool as_json = false;
};
ExitCode profile_model(const ProfileOptions& options);

}  // namespace coterie
