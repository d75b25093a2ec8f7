#include "device_sdk/runtime/program.h"

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "base/checked.h"
#include "base/order/sort_key.h"
#include "base/text/concat.h"
#include "device_sdk/runtime/left_out.h"
#include "device_sdk/runtime/memory_plan.h"
#include "device_sdk/runtime/run_tried.h"

namespace coterie {
namespace {

constexpr uint32_t kNever = ~0u;

constexpr double kFlopsANanosecond = 100, kBytesANanosecond = 25;  // of one core, roughly

// In parts: what a program has to cut is not worth waking threads for if it is less.
constexpr double kWorthWaking = 60;

constexpr uint64_t kPartAlignment = 64;  // no two parts write one cache line

bool is_touched(const Lifetime& life) { return life.first != kNever; }

}  // namespace

BufferId Program::add_planned(uint64_t bytes) {
  buffers_.push_back({.place = Place::planned, .bytes = bytes});
  return static_cast<BufferId>(buffers_.size() - 1);
}

BufferId Program::add_workspace(uint64_t bytes) {
  if (bytes == 0) return kNoBuffer;
  buffers_.push_back({.place = Place::planned, .bytes = bytes, .is_workspace = true});
  return static_cast<BufferId>(buffers_.size() - 1);
}

BufferId Program::add_fixed(Region region, uint64_t offset_bytes) {
  COT_ASSERT(offset_bytes % sizeof(float) == 0);
  buffers_.push_back({.place = Place::fixed, .region = region, .offset = offset_bytes});
  return static_cast<BufferId>(buffers_.size() - 1);
}

BufferId Program::add_constant(ByteView data) {
  buffers_.push_back({.place = Place::constant, .bytes = data.size(), .data = data.data()});
  return static_cast<BufferId>(buffers_.size() - 1);
}

void Program::emit_shared(Phase phase, const StepKind& kind, std::shared_ptr<const void> settings,
                          std::span<const BufferId> buffers, const Split& split) {
  for (const BufferId id : buffers) COT_ASSERT(id == kNoBuffer || id < buffers_.size());
  // Estimated, not measured: the parts decide how much memory the plan needs, and a plan must come out the same again.
  const double nanoseconds = nanoseconds_of(split, buffers);
  const uint32_t parts = parts_for(split, nanoseconds);
  if (parts > 1 && phase != Phase::prepare) cut_nanoseconds_ += nanoseconds;
  // Parts run at the same time, so that each needs a workspace of its own, on cache lines of its own.
  for (const BufferId id : buffers) {
    if (parts == 1 || id == kNoBuffer || !buffers_[id].is_workspace) continue;
    Buffer& workspace = buffers_[id];
    workspace.part_bytes = (workspace.bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
    workspace.bytes = workspace.part_bytes * parts;
  }
  drafts_[static_cast<size_t>(phase)].push_back(
      {&kind, std::move(settings), operands_.size(), buffers.size(), origin_, origin_ == kUpdateOrigin, split, parts});
  operands_.insert(operands_.end(), buffers.begin(), buffers.end());
}

double Program::nanoseconds_of(const Split& split, std::span<const BufferId> buffers) const {
  uint64_t bytes = 0;
  for (const BufferId id : buffers) {
    if (id != kNoBuffer && !buffers_[id].is_workspace) bytes += buffers_[id].bytes;
  }
  return std::max(split.flops / kFlopsANanosecond, static_cast<double>(bytes) / kBytesANanosecond);
}

// As many parts as there are threads, unless that makes them too small.
uint32_t Program::parts_for(const Split& split, double nanoseconds) const {
  if (!kHasThreads || threads_ == 1 || split.units <= split.grain) return 1;
  const bool is_large = nanoseconds >= threads_ * part_nanoseconds_min_;
  const size_t worth = is_large ? threads_ : static_cast<size_t>(nanoseconds / part_nanoseconds_min_);
  const size_t pieces = (split.units + split.grain - 1) / split.grain;
  return static_cast<uint32_t>(std::max<size_t>(1, std::min(pieces, worth)));
}

void Program::run_parts(const Parts& parts, const StepContext& context) {
  if (!kHasThreads) return parts.whole->run(context);
  struct Job {
    const Step* first;
    const StepContext& context;
  };
  const Job job{parts.whole + 1, context};
  const ThreadPool::Task task = [](const void* data, size_t part) {
    const Job& todo = *static_cast<const Job*>(data);
    todo.first[part].run(todo.context);
  };
  run_tried(parts.trial, [&](bool cuts) {
    if (cuts) context.pool->run(task, &job, parts.count);
    else parts.whole->run(context);
  });
}

void Program::run_all(Phase phase, const StepContext& context) const {
  size_t i = 0;
  const auto run_until = [&](size_t end) {
    for (; i < end; ++i) run_step(phase, i, context);
  };
  for (const TriedWave& tried : waves_[static_cast<size_t>(phase)]) {
    if (!kHasThreads || !kHasWaves || context.pool == nullptr) break;
    run_until(tried.wave.begin);
    run_wave(phase, tried, context);
    i = tried.wave.end();
  }
  run_until(step_count(phase));
}

void Program::run(Phase phase, const StepContext& context) const {
  const auto& steps = parts_[static_cast<size_t>(phase)];
  const auto is_whole = [](const Parts& step) { return step.count == 1; };
  const bool has_waves = !waves_[static_cast<size_t>(phase)].empty();
  if (!kHasThreads || context.pool == nullptr || (!has_waves && std::ranges::all_of(steps, is_whole)))
    return run_all(phase, context);
  run_tried(phase_trials_[static_cast<size_t>(phase)], [&](bool cuts) {
    StepContext whole = context;
    whole.pool = nullptr;
    run_all(phase, cuts ? context : whole);
  });
}

size_t Program::step_count() const {
  size_t count = 0;
  for (const auto& drafts : drafts_) count += drafts.size();
  return count;
}

// A planned buffer lives from the first step that names it to the last; one that no step names needs no memory.
std::vector<Lifetime> Program::lifetimes() const {
  std::vector<Lifetime> lives(buffers_.size(), {0, kNever, 0});
  const std::vector<Lane> lane = lanes();
  uint32_t step = 0;
  for (const auto& drafts : drafts_) {
    for (const Draft& draft : drafts) {
      for (size_t i = 0; i < draft.buffer_count; ++i) {
        const BufferId id = operands_[draft.first_buffer + i];
        if (id == kNoBuffer || buffers_[id].place != Place::planned) continue;
        lives[id].bytes = buffers_[id].bytes;
        if (!is_touched(lives[id])) {
          lives[id].first = step;
          lives[id].born = lane[step];
        }
        lives[id].touch(step, lane[step]);
      }
      ++step;
    }
  }
  for (size_t id = 0; id < buffers_.size(); ++id) {
    if (buffers_[id].place != Place::planned) continue;
    if (buffers_[id].is_filled_before) {
      const auto first = static_cast<uint32_t>(step_count(Phase::prepare));
      lives[id] = {buffers_[id].bytes, first, std::max(first, lives[id].last), Lane{}, lives[id].dies};
    }
    if (buffers_[id].is_read_after) lives[id].touch(step, Lane{});
  }
  return lives;
}

// The owner of each buffer's memory: itself, or the operand it is written over. An operand may be written over if
// the step that writes the result is the last that touches it (or what it shares already), and no other branch of
// that step's wave touches it.
std::vector<BufferId> Program::owners(std::vector<Lifetime>& lives) const {
  std::vector<BufferId> owner(buffers_.size());
  for (BufferId id = 0; id < owner.size(); ++id) owner[id] = id;
  std::vector<SortKey> keys;
  for (uint32_t i = 0; i < shares_.size(); ++i) {
    const Share& share = shares_[i];
    if (share.result != kNoBuffer && share.operand != kNoBuffer) keys.push_back({lives[share.result].first, i, i});
  }
  sort(keys);
  for (const SortKey& key : keys) {
    const Share& share = shares_[key.index];
    if (owner[share.result] != share.result) continue;
    const BufferId into = owner[share.operand];
    if (into == share.result || buffers_[into].place != Place::planned) continue;
    if (buffers_[share.result].place != Place::planned) continue;
    Lifetime &result = lives[share.result], &life = lives[into];
    // The result may take the operand's memory only if nobody reads the operand later, and if it fits.
    if (!is_touched(result) || !is_touched(life) || life.last != result.first || life.bytes < result.bytes) continue;
    if (life.dies != result.born) continue;
    life.last = result.last;
    life.dies = result.dies;
    owner[share.result] = into;
  }
  return owner;
}

void Program::keep_prepared() {
  std::vector<bool> is_prepared(buffers_.size());
  for (const Draft& draft : drafts_[static_cast<size_t>(Phase::prepare)]) {
    for (const BufferId id : operands_of(draft)) {
      if (id != kNoBuffer && buffers_[id].place == Place::planned) is_prepared[id] = true;
    }
  }
  const auto keep = [&](BufferId id) {
    if (id == kNoBuffer || !is_prepared[id] || buffers_[id].place != Place::planned) return;
    Buffer& buffer = buffers_[id];
    buffer.place = Place::fixed;
    buffer.region = Region::prepared;
    buffer.offset = prepared_bytes_;
    prepared_bytes_ += round_up(buffer.bytes, kBufferAlignment);
  };
  for (size_t phase = static_cast<size_t>(Phase::forward); phase < kPhases; ++phase) {
    for (const Draft& draft : drafts_[phase]) {
      for (const BufferId id : operands_of(draft)) keep(id);
    }
  }
  for (BufferId id = 0; id < buffers_.size(); ++id) {
    if (buffers_[id].is_read_after) keep(id);
  }
}

std::vector<Lifetime> Program::owned_lives(std::span<const Lifetime> lives, std::span<const BufferId> owner,
                                           std::vector<size_t>* place) const {
  std::vector<Lifetime> owned;
  if (place != nullptr) place->assign(buffers_.size(), 0);
  for (size_t id = 0; id < buffers_.size(); ++id) {
    if (owner[id] != id || !is_touched(lives[id])) continue;
    if (place != nullptr) (*place)[id] = owned.size();
    owned.push_back(lives[id]);
  }
  return owned;
}

uint64_t Program::most_bytes_alive() const {
  std::vector<Lifetime> lives = lifetimes();
  const std::vector<BufferId> owner = owners(lives);
  return coterie::most_bytes_alive(owned_lives(lives, owner, nullptr));
}

Status Program::plan(uint64_t bytes_max) {
  // Each buffer is bounded before the sum is formed, so that nothing below overflows.
  for (const Buffer& buffer : buffers_) {
    if (buffer.bytes <= bytes_max) continue;
    return Error(ErrorCode::too_large, concat({"the model needs one buffer of ", buffer.bytes, " bytes, at most ",
                                               bytes_max, " bytes are allowed"}));
  }
  std::vector<Lifetime> lives = lifetimes();
  const std::vector<BufferId> owner = owners(lives);
  std::vector<size_t> place;
  const MemoryPlan plan = plan_memory(owned_lives(lives, owner, &place));
  for (size_t id = 0; id < buffers_.size(); ++id) {
    if (buffers_[id].place != Place::planned || !is_touched(lives[id])) continue;
    buffers_[id].offset = plan.offsets[place[owner[id]]];
  }
  planned_bytes_ = plan.bytes;
  planned_lower_bound_ = plan.lower_bound;
  return {};
}

void Program::bind(const Arena& arena) {
  resolved_.clear();
  for (const Buffer& buffer : buffers_) {
    switch (buffer.place) {
      case Place::planned: resolved_.push_back(reinterpret_cast<float*>(arena.planned() + buffer.offset)); break;
      case Place::fixed: resolved_.push_back(arena.region(buffer.region).data() + buffer.offset / sizeof(float)); break;
      case Place::constant: resolved_.push_back(reinterpret_cast<float*>(const_cast<uint8_t*>(buffer.data))); break;
    }
  }
  bind_steps();
}

// One thread does what several would lose more time over than they save: it runs the parts in turn, as one.
uint32_t Program::bound_parts(const Draft& draft) const { return is_worth_waking(cut_nanoseconds_) ? draft.parts : 1; }

bool Program::is_worth_waking(double nanoseconds) const { return nanoseconds >= kWorthWaking * part_nanoseconds_min_; }

// A step has an entry, and one for each part: they differ in their range of units and in their piece of a workspace.
void Program::bind_steps() {
  const auto entries_of = [&](const Draft& draft) {
    const uint32_t parts = bound_parts(draft);
    return parts == 1 ? 1 : parts + 1;
  };
  size_t entries = 0, operands = 0;
  for (const auto& drafts : drafts_) {
    for (const Draft& draft : drafts) {
      entries += entries_of(draft);
      operands += entries_of(draft) * draft.buffer_count;
    }
  }
  steps_.clear();
  steps_.reserve(entries);
  pointers_.clear();
  pointers_.reserve(operands);
  for (size_t phase = 0; phase < kPhases; ++phase) {
    // Once its steps have been tried, and its waves behind these.
    phase_trials_[phase] = CutTrial(waves_[phase].empty() ? 2 * CutTrial::kTries : kWaveTurns + 2 * CutTrial::kTries);
    for (TriedWave& tried : waves_[phase]) tried = {tried.wave};
    parts_[phase].clear();
    for (const Draft& draft : drafts_[phase]) {
      const uint32_t parts = bound_parts(draft);
      const Split& split = draft.split;
      parts_[phase].push_back({steps_.data() + steps_.size(), parts});
      bind_step(draft, {0, split.units}, 0);
      if (parts == 1) continue;
      const size_t pieces = (split.units + split.grain - 1) / split.grain;
      const auto begin_of = [&](size_t i) { return std::min(split.units, pieces * i / parts * split.grain); };
      for (uint32_t part = 0; part < parts; ++part) bind_step(draft, {begin_of(part), begin_of(part + 1)}, part);
    }
  }
}

void Program::bind_step(const Draft& draft, kernels::Range units, uint32_t workspace) {
  float* const* buffers = pointers_.data() + pointers_.size();
  for (const BufferId id : operands_of(draft)) {
    pointers_.push_back(id == kNoBuffer ? nullptr
                                        : resolved_[id] + workspace * buffers_[id].part_bytes / sizeof(float));
  }
  steps_.push_back({draft.kind, buffers, draft.settings.get(), units});
}

}  // namespace coterie
