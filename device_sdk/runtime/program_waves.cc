// Waves of a Program (waves.h): what its steps need of each other, which of them run at the same time, and how.
#include <algorithm>
#include <map>
#include <utility>

#include "device_sdk/runtime/memory_plan.h"
#include "device_sdk/runtime/program.h"
#include "device_sdk/runtime/run_tried.h"
#include "device_sdk/runtime/waves.h"

namespace coterie {
namespace {

// What one core does in a nanosecond, as program_order.cc has it.
constexpr double kFlopsANanosecond = 100, kBytesANanosecond = 20;

constexpr uint32_t kNoStepYet = ~0u;

// What steps in front have done to one piece of memory.
struct Touched {
  uint32_t changed_by = kNoStepYet;
  std::vector<uint32_t> read_by;  // since
};

void add_once(std::vector<uint32_t>& needs, uint32_t step) {
  if (std::ranges::find(needs, step) == needs.end()) needs.push_back(step);
}

// The steps in front that `step` must wait for because of a memory that it reads, or changes.
void touch(Touched& touched, uint32_t step, bool changes, std::vector<uint32_t>& needs) {
  if (touched.changed_by != kNoStepYet && touched.changed_by != step) add_once(needs, touched.changed_by);
  if (!changes) return touched.read_by.push_back(step);
  for (const uint32_t reader : touched.read_by) {
    if (reader != step) add_once(needs, reader);
  }
  touched = {step, {}};
}

}  // namespace

// Planned memory is written by the step that names it first, and read by those behind. Steps of one op may pass on
// memory in other ways (ops/rnn.cc), so that those that share some stay in their order. What state is changed, and who
// reads it, is told by region and offset: two tensors have no offset in common.
std::vector<WaveStep> Program::wave_steps(Phase phase, std::span<const double> op_flops) const {
  const std::vector<Draft>& drafts = drafts_[static_cast<size_t>(phase)];
  std::vector<bool> is_there(buffers_.size());  // before this phase, or filled by the caller
  for (BufferId id = 0; id < is_there.size(); ++id) is_there[id] = buffers_[id].is_filled_before;
  for (size_t before = 0; before < static_cast<size_t>(phase); ++before) {
    for (const Draft& draft : drafts_[before]) {
      for (const BufferId id : operands_of(draft)) {
        if (id != kNoBuffer) is_there[id] = true;
      }
    }
  }
  std::vector<bool> has_split(op_flops.size());  // an op's other steps then only move memory
  for (const Draft& draft : drafts) {
    if (draft.split.flops > 0 && draft.origin < has_split.size()) has_split[draft.origin] = true;
  }
  std::map<BufferId, Touched> planned;
  std::map<std::pair<Region, uint64_t>, Touched> fixed;
  std::map<std::pair<uint32_t, BufferId>, uint32_t> of_op;  // the last step of this origin that names the buffer
  std::vector<WaveStep> steps;
  for (const Draft& draft : drafts) {
    const auto index = static_cast<uint32_t>(steps.size());
    WaveStep& step = steps.emplace_back();
    step.runs_alone = draft.origin == kLossOrigin;
    const bool is_whole_op = draft.split.flops == 0 && draft.origin < op_flops.size() && !has_split[draft.origin];
    const double flops = is_whole_op ? op_flops[draft.origin] : draft.split.flops;
    double bytes = 0;
    for (const BufferId id : operands_of(draft)) {
      if (id == kNoBuffer) continue;
      const Buffer& buffer = buffers_[id];
      if (!buffer.is_workspace) bytes += static_cast<double>(buffer.bytes);
      if (buffer.place == Place::constant) continue;
      const auto [last, is_first] = of_op.try_emplace({draft.origin, id}, index);
      if (!is_first && last->second != index) add_once(step.needs, std::exchange(last->second, index));
      if (buffer.place == Place::planned) {
        touch(planned[id], index, !is_there[id], step.needs);
        is_there[id] = true;
      } else {
        touch(fixed[{buffer.region, buffer.offset}], index, draft.changes_state, step.needs);
      }
    }
    step.whole_nanoseconds = std::max(flops / kFlopsANanosecond, bytes / kBytesANanosecond);
    step.cut_nanoseconds = step.whole_nanoseconds;
    // Where anything is cut that can be, anything is in a wave that can be.
    if (draft.parts == 1 || part_nanoseconds_min_ == 0) continue;
    step.cut_nanoseconds = step.whole_nanoseconds / draft.parts + part_nanoseconds_min_ * kHandingShare;
  }
  return steps;
}

bool Program::run_in_waves(std::span<const double> op_flops) {
  if (threads_ == 1) return false;
  WavePlan plans[kPhases];
  double nanoseconds = 0;
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    const std::vector<WaveStep> steps = wave_steps(phase, op_flops);
    WavePlan& plan = plans[static_cast<size_t>(phase)];
    plan = plan_waves(steps, threads_, part_nanoseconds_min_);
    for (const Wave& wave : plan.waves) {
      for (uint32_t i = wave.begin; i < wave.end(); ++i) nanoseconds += steps[plan.order[i]].whole_nanoseconds;
    }
  }
  if (nanoseconds == 0 || !is_worth_waking(nanoseconds)) return false;
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    WavePlan& plan = plans[static_cast<size_t>(phase)];
    std::vector<Draft>& drafts = drafts_[static_cast<size_t>(phase)];
    std::vector<Draft> ordered;
    ordered.reserve(drafts.size());
    for (const uint32_t step : plan.order) ordered.push_back(std::move(drafts[step]));
    drafts = std::move(ordered);
    for (Wave& wave : plan.waves) waves_[static_cast<size_t>(phase)].push_back({std::move(wave)});
  }
  return true;
}

std::vector<Wave> Program::waves(Phase phase) const {
  std::vector<Wave> waves;
  for (const TriedWave& tried : waves_[static_cast<size_t>(phase)]) waves.push_back(tried.wave);
  return waves;
}

std::vector<Lane> Program::lanes() const {
  std::vector<Lane> lanes(step_count());
  uint32_t number = 0;
  size_t first = 0;  // step of the phase
  for (size_t phase = 0; phase < kPhases; first += drafts_[phase].size(), ++phase) {
    for (const TriedWave& tried : waves_[phase]) {
      ++number;
      for (uint32_t branch = 0; branch < tried.wave.branches(); ++branch) {
        for (uint32_t i = tried.wave.branch_begin(branch); i < tried.wave.branch_ends[branch]; ++i) {
          lanes[first + i] = {number, branch};
        }
      }
    }
  }
  return lanes;
}

// The first time as a wave, so that what runs once runs so. Then in turn until its steps know whether to be cut: what
// it is held against must be at its best. Then as is faster.
void Program::run_wave(Phase phase, const TriedWave& tried, const StepContext& context) const {
  const auto run = [&](bool at_once) {
    if (at_once) return run_branches(phase, tried.wave, context);
    for (size_t i = tried.wave.begin; i < tried.wave.end(); ++i) run_step(phase, i, context);
  };
  if (tried.runs == kWaveTurns) return run_tried(tried.trial, run);
  run(tried.runs++ == 0);
}

void Program::run_branches(Phase phase, const Wave& wave, const StepContext& context) const {
  struct Job {
    const Program& program;
    const Phase phase;
    const Wave& wave;
    const StepContext& context;
    const char** faults;  // one a branch: what several say at the same time
  };
  const char* faults[kWaveBranchesMax] = {};
  const Job job{*this, phase, wave, context, faults};
  const ThreadPool::Task task = [](const void* data, size_t branch) {
    const Job& todo = *static_cast<const Job*>(data);
    StepContext own = todo.context;
    own.pool = nullptr;
    own.fault = &todo.faults[branch];
    for (size_t i = todo.wave.branch_begin(branch); i < todo.wave.branch_ends[branch]; ++i) {
      todo.program.run_step(todo.phase, i, own);
    }
  };
  context.pool->run(task, &job, wave.branches());
  for (const char* const fault : std::span(faults, wave.branches())) {
    if (fault != nullptr && context.fault != nullptr) *context.fault = fault;
  }
}

}  // namespace coterie
