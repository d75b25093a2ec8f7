// A training's timeline as tracing tools read it (ui.perfetto.dev, chrome://tracing): Trace Event Format, JSON. Pure.
//
// Slices ("ph": "X") nest: a step of training, its phases, the steps of the program under their op's name, their
// category "forward", "loss", "backward" or "optimizer". Each further thread has a track, with the parts that it ran of
// steps, their category "part"; those of the thread that trains are inside of the step. Counters say how much memory
// the plan has in use at each step of the program, and how much the process has in front of each step of training.
// Times are microseconds from the first slice on, in whole nanoseconds, so that durations add up.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/data/stage_log.h"

namespace coterie {

class Model;
struct StepInfo;
struct TrainingMemory;
struct TrainingTrace;

// What a training holds from its begin to its end: parameters, the optimizer's state and the like.
uint64_t fixed_bytes(const TrainingMemory& memory);

// `trace` is of `model`. `fixed_bytes`: of the same training. `data`, calls in any order, go to a
// track of their own, "data", but for those of DataStage::step, which the training's track shows.
std::string trace_json(const Model& model, uint64_t fixed_bytes, const TrainingTrace& trace,
                       std::span<const StageSlice> data = {});

// By step of the program: the bytes of planned memory that hold something which it, or one behind it, reads or writes.
std::vector<uint64_t> live_planned_bytes(const std::vector<StepInfo>& steps);

}  // namespace coterie
