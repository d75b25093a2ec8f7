#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "device_sdk/runtime/memory_plan.h"
#include "device_sdk/runtime/program.h"
#include "device_sdk/runtime/recompute.h"

namespace coterie {
namespace {

// What one core does in a nanosecond: convolutions, and steps that move memory.
constexpr double kFlopsANanosecond = 100, kBytesANanosecond = 20;

}  // namespace

StepSchedule Program::schedule(std::span<const double> op_flops) const {
  StepSchedule schedule;
  schedule.values.resize(buffers_.size());
  schedule.may_overwrite.resize(buffers_.size());
  std::vector<bool> is_made(buffers_.size());
  for (BufferId id = 0; id < buffers_.size(); ++id) {
    const Buffer& buffer = buffers_[id];
    if (buffer.place == Place::planned) schedule.values[id].bytes = round_up(buffer.bytes, kBufferAlignment);
    schedule.values[id].lives_to_end = buffer.is_read_after;
    is_made[id] = buffer.is_filled_before || buffer.place != Place::planned;
  }
  for (const auto& [result, operand] : shares_) {
    if (result == kNoBuffer || operand == kNoBuffer || buffers_[operand].place != Place::planned) continue;
    schedule.may_overwrite[result].push_back(operand);
  }
  std::vector<uint32_t> changed_at(buffers_.size(), kNoStep);  // of a fixed buffer: by which step first
  for (const auto& drafts : drafts_) {
    for (const Draft& draft : drafts) {
      const auto index = static_cast<uint32_t>(schedule.steps.size());
      ScheduledStep& step = schedule.steps.emplace_back();
      // What is cut into parts says itself what it does.
      if (draft.split.units > 1) step.cost = draft.split.flops / kFlopsANanosecond;
      else if (draft.origin < op_flops.size()) step.cost = op_flops[draft.origin] / kFlopsANanosecond;
      const bool is_prepare = index < step_count(Phase::prepare);  // nothing in each run
      if (is_prepare) step.cost = 0;
      for (const BufferId id : operands_of(draft)) {
        if (id == kNoBuffer) continue;
        if (!is_prepare) step.cost += static_cast<double>(buffers_[id].bytes) / kBytesANanosecond;
        if (buffers_[id].place != Place::planned) {
          if (draft.changes_state) changed_at[id] = std::min(changed_at[id], index);
        } else if (is_made[id]) {
          step.reads.push_back(id);
        } else {
          is_made[id] = true;
          step.writes.push_back(id);
          schedule.values[id].made_by = index;
        }
      }
    }
  }
  // What prepares, changes the state or the loss's sums runs once; the others as long as what they read there is as it
  // was.
  auto step = schedule.steps.begin();
  const auto prepared = step + static_cast<ptrdiff_t>(step_count(Phase::prepare));
  for (const auto& drafts : drafts_) {
    for (const Draft& draft : drafts) {
      const bool runs_once = step < prepared || draft.changes_state || draft.origin == kLossOrigin;
      step->again_until = runs_once ? 0 : kNoStep;
      for (const BufferId id : operands_of(draft)) {
        if (id != kNoBuffer) step->again_until = std::min(step->again_until, changed_at[id]);
      }
      ++step;
    }
  }
  return schedule;
}

// A program in the making: each step of the old one, under the buffers that hold what it names when it runs.
struct Program::Reordering {
  Program& program;
  std::vector<std::pair<size_t, Draft>> drafts = {};    // of the old program, with their phases
  std::vector<BufferId> operands = {};                  // of the new one
  std::vector<bool> has_run = {};                       // per old draft
  std::vector<uint32_t> maker = {};                     // per buffer: the draft that writes it
  std::vector<std::vector<BufferId>> overwritten = {};  // per buffer: what it may be written over
  std::vector<BufferId> now = {};                       // per buffer: where its value lies

  explicit Reordering(Program& old) : program(old), now(old.buffers_.size()) {
    maker.assign(now.size(), kNoStep);
    overwritten.resize(now.size());
    for (BufferId id = 0; id < now.size(); ++id) now[id] = id;
    for (const auto& [result, operand] : program.shares_) {
      if (result != kNoBuffer && operand != kNoBuffer) overwritten[result].push_back(operand);
    }
    program.shares_.clear();
    for (size_t phase = 0; phase < kPhases; ++phase) {
      for (Draft& draft : program.drafts_[phase]) drafts.emplace_back(phase, std::move(draft));
      program.drafts_[phase].clear();
    }
    has_run.resize(drafts.size());
  }

  // The buffers that the draft writes, each once.
  std::vector<BufferId> made_by(uint32_t index) {
    std::vector<BufferId> made;
    for (const BufferId id : program.operands_of(drafts[index].second)) {
      if (id == kNoBuffer || program.buffers_[id].place != Place::planned) continue;
      if (program.buffers_[id].is_filled_before) continue;
      if (maker[id] == kNoStep) maker[id] = index;
      if (maker[id] == index && std::find(made.begin(), made.end(), id) == made.end()) made.push_back(id);
    }
    return made;
  }

  void add(uint32_t index, size_t phase) {
    const std::vector<BufferId> made = made_by(index);
    std::vector<Share> shares;
    for (const BufferId id : made) {
      for (const BufferId operand : overwritten[id]) shares.push_back({id, now[operand]});
    }
    for (const BufferId id : made) {
      // A step that runs again writes into another buffer: the first value may still be read by steps in between.
      if (!has_run[index]) continue;
      const Buffer another = program.buffers_[id];
      program.buffers_.push_back(another);
      now[id] = static_cast<BufferId>(program.buffers_.size() - 1);
    }
    for (const auto& [result, operand] : shares) program.shares_.push_back({now[result], operand});
    Draft draft = drafts[index].second;
    const size_t first = operands.size();
    for (const BufferId id : program.operands_of(draft)) operands.push_back(id == kNoBuffer ? kNoBuffer : now[id]);
    draft.first_buffer = first;
    program.drafts_[phase].push_back(std::move(draft));
    has_run[index] = true;
  }
};

void Program::run_in_order(std::span<const uint32_t> order) {
  Reordering reordering(*this);
  std::vector<size_t> phases(order.size());  // a run again belongs to the phase of the step behind it
  std::vector<bool> has_run(reordering.drafts.size());
  for (size_t i = 0; i < order.size(); ++i) {
    phases[i] = has_run[order[i]] ? kPhases : reordering.drafts[order[i]].first;
    has_run[order[i]] = true;
  }
  for (size_t i = order.size(); i-- > 0;) {
    if (phases[i] == kPhases) phases[i] = phases[i + 1];
  }
  for (size_t i = 0; i < order.size(); ++i) reordering.add(order[i], phases[i]);
  operands_ = std::move(reordering.operands);
}

}  // namespace coterie
