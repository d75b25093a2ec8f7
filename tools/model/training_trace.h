// A training's timeline as tracing tools read it (ui.perfetto.dev, chrome://tracing): Trace Event Format, JSON. Pure.
//
// Slices ("ph": "X") nest: a step of training, its phases, the steps of the program under their op's name, their
// category "forward", "loss", "backward" or "optimizer". A counter says how much memory the plan has in use at each of
// them. Times are microseconds from the first slice on, in whole nanoseconds, so that durations add up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/profiler.h"

namespace coterie {

// `profile` and `trace` are of one profile_training of `model`.
std::string trace_json(const Model& model, const TrainingProfile& profile, const TrainingTrace& trace);

// By step of the program: the bytes of planned memory that hold something which it, or one behind it, reads or writes.
std::vector<uint64_t> live_planned_bytes(const std::vector<StepInfo>& steps);

}  // namespace coterie
