// coterie model profile --data: whether a training waits for its data, and in which stage of them.
#pragma once

#include <string>

#include "device_sdk/runtime/model.h"
#include "tools/cli/model_profile.h"
#include "tools/data/stage_log.h"
#include "tools/model/input_report.h"

namespace coterie {

// Precondition: options.data. `seconds_now`: a monotonic clock.
ExitCode profile_data(const ProfileOptions& options, const Model& model, const StageLog::Clock& seconds_now);

// What is the bottleneck, and what to do about it: sentences, each of a line or more of at most 80 columns.
std::string advice_text(const InputReport& report);

}  // namespace coterie
