// Program: what a training step or an evaluation is at run time: a flat list of steps (step.h).
//
// Life: the compiler adds buffers and emits steps; plan() decides where in memory each buffer lies, so that the size is
// known before a byte is allocated; bind() puts the program onto an arena; run() walks the list and neither allocates
// nor decides anything. Several programs of one model (a whole batch, and the smaller last one) share an arena.
//
// What a program computes from settled values alone, those that it never changes, it computes once: in the prepare
// phase (prepared.h says when that is). It lies in a region of its own, beside the planned memory.
//
// Each planned buffer is written by one step (the steps after it only read), with one exception: a step may write its
// result over an operand that no later step reads. A rule that can do so says may_share(); plan() does it where it is
// safe.
//
// A step may say that it can be cut (Split). A program for several threads then consists of parts, which a ThreadPool
// runs at the same time. How a step is cut changes none of its bits, so that a model trained by any number of threads
// is the same model. Steps that do not need each other may run at the same time too, in waves (waves.h).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "device_sdk/runtime/arena.h"
#include "device_sdk/runtime/cut_trial.h"
#include "device_sdk/runtime/program_buffer.h"
#include "device_sdk/runtime/step.h"
#include "device_sdk/runtime/step_info.h"
#include "device_sdk/runtime/wave.h"

namespace coterie {

struct Lane;
struct Lifetime;
struct StepSchedule;
struct WaveStep;

using BufferId = uint32_t;
inline constexpr BufferId kNoBuffer = ~0u;  // becomes a null pointer

// How a step may be cut: of its `units` (images, rows, elements) any that begin at a multiple of `grain` may be
// computed apart from the others. The step's function computes those in Step::part.
struct Split {
  size_t units = 1;
  size_t grain = 1;
  double flops = 0;  // of all units: whether a part is worth a thread
  bool is_elementwise = false;
};

// A step that computes each element by itself: element i of what it writes from element i of what it reads, and from
// what has no element of that number. An operand of `count` floats is touched in the part alone.
constexpr Split by_elements(size_t count) {
  return {.units = count, .grain = 1024, .flops = 0, .is_elementwise = true};
}

// What a step belongs to if it is no op's.
inline constexpr uint32_t kLossOrigin = ~0u, kUpdateOrigin = ~1u;

class Program {
 public:
  // --- building
  // First of all: how many parts a step is cut into at most, and how long one must take by estimate to be worth it.
  void set_threads(uint32_t threads, double part_nanoseconds_min) {
    threads_ = threads;
    part_nanoseconds_min_ = part_nanoseconds_min;
  }
  BufferId add_planned(uint64_t bytes);
  // Planned memory of one step, whose parts each get so many bytes of their own.
  BufferId add_workspace(uint64_t bytes);
  BufferId add_fixed(Region region, uint64_t offset_bytes);  // inside the region, element-aligned
  // `data` must outlive the program; steps only read it.
  BufferId add_constant(ByteView data);
  // Alive from before the first step behind the prepare phase, because the caller fills it; to after the last, because
  // the caller reads it.
  void fill_before(BufferId buffer) { buffers_[buffer].is_filled_before = true; }
  void read_after(BufferId buffer) { buffers_[buffer].is_read_after = true; }
  // What the buffer is to those who read the plan: steps(). Without it, scratch of floats.
  void holds(BufferId buffer, const BufferContent& content) { buffers_[buffer].content = content; }
  // What the steps emitted from now on belong to, for whoever measures them: an op's index, or one of those below.
  void set_origin(uint32_t origin) { origin_ = origin; }
  // Copies `settings`. `kind` outlives the program.
  template <typename Settings>
  void emit(Phase phase, const StepKindOf<Settings>& kind, const std::type_identity_t<Settings>& settings,
            std::initializer_list<BufferId> buffers, const Split& split = {}) {
    emit(phase, kind, settings, std::span<const BufferId>(buffers.begin(), buffers.size()), split);
  }
  template <typename Settings>
  void emit(Phase phase, const StepKindOf<Settings>& kind, const std::type_identity_t<Settings>& settings,
            std::span<const BufferId> buffers, const Split& split = {}) {
    emit_shared(phase, kind, std::make_shared<const Settings>(settings), buffers, split);
  }
  // The step that first writes `result` may write it over `operand`, which it reads, element by element.
  void may_share(BufferId result, BufferId operand) { shares_.push_back({result, operand}); }
  // Says that the step emitted last changes a fixed buffer. All steps of kUpdateOrigin do so.
  void last_changes_state(Phase phase) { drafts_[static_cast<size_t>(phase)].back().changes_state = true; }

  // Picks, among these buffers of floats, those that a forward step writes and a backward step reads. Each is held in
  // between as a bfloat16 copy, half its size, made behind the step that writes it and widened again in front of the
  // first backward step that reads it. Forward is as it was (program_bfloat16.cc).
  void hold_as_bfloat16(std::span<const BufferId> buffers);
  // Whether hold_as_bfloat16() would pick it.
  bool is_held_for_backward(BufferId buffer) const;

  // When all are emitted, and before they are put in order: the planned buffers that the prepare phase writes and a
  // later phase or the caller reads get places of their own, one behind the other, in Region::prepared. The others are
  // scratch of the prepare phase and stay planned.
  void keep_prepared();
  uint64_t prepared_bytes() const { return prepared_bytes_; }

  // Neighbours in the forward and in the backward phase that compute element by element run as one step, block by
  // block; the values between them that nobody else reads need no memory but a block (program_chains.cc). Each bit is
  // as it was. After keep_prepared() and run_in_order().
  void join_elementwise();

  // --- the order of the steps, when all are emitted (program_order.cc)
  // As recompute.h sees it; a step costs nanoseconds. `op_flops`: of each op's forward.
  StepSchedule schedule(std::span<const double> op_flops) const;
  // Runs the steps in this order, which has each step of schedule() in its place and some of them again. What
  // runs again writes buffers of its own, which those behind it read; it belongs to the phase of the step
  // behind it.
  void run_in_order(std::span<const uint32_t> order);

  // The forward and the backward phase run in waves where that pays by estimate; false: it pays nowhere, and nothing
  // has changed. Steps of the loss, which add to one sum, are in none. The order of the steps changes, and no bit of
  // what they compute. `op_flops` as of schedule(). Behind join_elementwise() (program_waves.cc).
  bool run_in_waves(std::span<const double> op_flops);
  std::vector<Wave> waves(Phase phase) const;

  // too_large if a buffer exceeds `bytes_max`; otherwise figures() are final.
  Status plan(uint64_t bytes_max);
  uint64_t planned_bytes() const { return planned_bytes_; }
  uint64_t planned_lower_bound() const { return planned_lower_bound_; }
  // What planned_lower_bound() would be if it were planned as it is. No buffer is above what plan() allows.
  uint64_t most_bytes_alive() const;

  // --- running
  // The arena has the regions and at least planned_bytes(), and lives as long as the program runs.
  void bind(const Arena& arena);
  void run(Phase phase, const StepContext& context) const;
  // One step of it alone, all its parts; all in their order are run().
  void run_step(Phase phase, size_t i, const StepContext& context) const {
    const Parts& parts = parts_[static_cast<size_t>(phase)][i];
    if (parts.count == 1 || context.pool == nullptr) parts.whole->run(context);
    else run_parts(parts, context);
  }
  size_t step_count(Phase phase) const { return drafts_[static_cast<size_t>(phase)].size(); }
  uint32_t origin(Phase phase, size_t i) const { return drafts_[static_cast<size_t>(phase)][i].origin; }
  float* pointer(BufferId buffer) const { return resolved_[buffer]; }
  size_t step_count() const;
  // All of them in the order they run, phase by phase, to be read: at any time, best when they are planned.
  std::vector<StepInfo> steps() const;

 private:
  using Place = BufferPlace;
  struct Buffer {
    Place place;
    Region region = Region::parameters;  // fixed
    uint64_t offset = 0;                 // planned: in the planned part; fixed: in its region
    uint64_t bytes = 0;
    const uint8_t* data = nullptr;  // constant
    bool is_filled_before = false, is_read_after = false;
    bool is_workspace = false;
    uint64_t part_bytes = 0;  // of a workspace: how far apart its parts lie
    BufferContent content = {};
  };
  struct Draft {
    const StepKind* kind;
    std::shared_ptr<const void> settings;
    size_t first_buffer, buffer_count;  // in operands_
    uint32_t origin;
    bool changes_state;
    Split split;
    uint32_t parts;
  };
  // A step, and if it can be cut, behind it its parts, each a Step of its own.
  struct Parts {
    const Step* whole;
    uint32_t count;
    mutable CutTrial trial{};
  };
  // A wave, and which way it is run: its branches at the same time, or its steps in turn.
  struct TriedWave {
    Wave wave;
    mutable CutTrial trial{};
    mutable uint32_t runs = 0;  // in front of the trial
  };
  // Runs of a wave in front of its trial: one as a wave, and as many in turn as the trials of its steps take.
  static constexpr uint32_t kWaveTurns = 1 + 2 * CutTrial::kTries;
  struct Share {
    BufferId result, operand;
  };
  struct Reordering;
  struct Chaining;

  void emit_shared(Phase phase, const StepKind& kind, std::shared_ptr<const void> settings,
                   std::span<const BufferId> buffers, const Split& split);
  double nanoseconds_of(const Split& split, std::span<const BufferId> buffers) const;  // by one thread, roughly
  uint32_t parts_for(const Split& split, double nanoseconds) const;
  bool is_worth_waking(double nanoseconds) const;  // that several threads share, in a run of all phases
  uint32_t bound_parts(const Draft& draft) const;
  void run_all(Phase phase, const StepContext& context) const;
  static void run_parts(const Parts& parts, const StepContext& context);
  void run_wave(Phase phase, const TriedWave& tried, const StepContext& context) const;
  void run_branches(Phase phase, const Wave& wave, const StepContext& context) const;
  std::vector<WaveStep> wave_steps(Phase phase, std::span<const double> op_flops) const;
  std::vector<Lane> lanes() const;  // per step
  void bind_steps();
  void bind_step(const Draft& draft, kernels::Range units, uint32_t workspace);
  std::span<const BufferId> operands_of(const Draft& draft) const {
    return std::span(operands_).subspan(draft.first_buffer, draft.buffer_count);
  }
  std::vector<Lifetime> lifetimes() const;
  std::vector<BufferId> owners(std::vector<Lifetime>& lives) const;
  // The lives of what owns memory; `place`, if it is asked for, says per buffer which of them is its own.
  std::vector<Lifetime> owned_lives(std::span<const Lifetime> lives, std::span<const BufferId> owner,
                                    std::vector<size_t>* place) const;

  std::vector<Buffer> buffers_;
  std::vector<Draft> drafts_[kPhases];  // own the settings
  std::vector<BufferId> operands_;
  std::vector<Share> shares_;
  std::vector<Step> steps_;            // all steps and their parts
  std::vector<Parts> parts_[kPhases];  // per step
  mutable CutTrial phase_trials_[kPhases];
  std::vector<TriedWave> waves_[kPhases];
  std::vector<float*> resolved_;  // per buffer
  std::vector<float*> pointers_;  // per operand of each of these
  uint32_t threads_ = 1;
  double part_nanoseconds_min_ = 0;
  double cut_nanoseconds_ = 0;  // of the steps that are cut
  uint32_t origin_ = 0;
  uint64_t planned_bytes_ = 0;
  uint64_t prepared_bytes_ = 0;
  uint64_t planned_lower_bound_ = 0;
};

}  // namespace coterie
