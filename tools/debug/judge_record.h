// The checks of a watch, asked of a recorded step.
#pragma once

#include "device_sdk/watch/watch_judge.h"
#include "tools/debug/step_record.h"

namespace coterie {

// As a Watch that looks at the step while it runs.
void judge_record(const StepRecord& record, WatchJudge& judge);

}  // namespace coterie
