// Program: what a training step or an evaluation is at run time: a flat list of {function, pointers, settings}, and the
// arena its buffers lie in.
//
// Life: the compiler adds buffers and emits steps; finish() plans the memory and allocates the arena, once; run() walks
// the list and neither allocates nor decides anything.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/memory_plan.h"
#include "train_kernels/kernel_table.h"

namespace coterie {

using BufferId = uint32_t;
inline constexpr BufferId kNoBuffer = ~0u;  // becomes a null pointer

// What a step is told beside its pointers.
struct StepContext {
  const kernels::KernelTable& kernels;
  size_t batch = 0;                   // examples in this batch, at most the program's
  const int32_t* labels = nullptr;    // [batch]
  kernels::LossSums* sums = nullptr;  // the loss adds to it
  kernels::AdamStep adam{};           // changes with every step
};

struct Step;
using StepFunction = void (*)(const Step&, const StepContext&);

struct Step {
  static constexpr size_t kBuffersMax = 6;

  StepFunction run;
  std::array<float*, kBuffersMax> buffers;  // in the order they were emitted
  const void* settings;

  template <typename Settings>
  const Settings& as() const {
    return *static_cast<const Settings*>(settings);
  }
};

// Memory that lives as long as the program, one after the other at the start of the arena; each is a flat vector.
enum class Region : uint8_t { parameters, slot0, slot1 };
inline constexpr size_t kRegions = 3;

struct ArenaFigures {
  uint64_t bytes = 0;                // the whole arena
  uint64_t parameter_bytes = 0;      // of which parameters
  uint64_t slot_bytes = 0;           // optimizer state
  uint64_t planned_bytes = 0;        // activations, gradients, scratch
  uint64_t planned_lower_bound = 0;  // MemoryPlan::lower_bound
};

class Program {
 public:
  Program() = default;
  Program(Program&&) noexcept = default;
  Program& operator=(Program&&) noexcept = default;

  // --- building
  void reserve_region(Region region, uint64_t bytes);
  BufferId add_planned(uint64_t bytes);
  BufferId add_fixed(Region region, uint64_t offset_bytes);  // inside a reserved region, float-aligned
  // The input buffer is alive from before the first step, because the caller fills it.
  void set_input(BufferId buffer) { input_ = buffer; }
  // Copies `settings`. At most Step::kBuffersMax buffers.
  template <typename Settings>
  void emit(StepFunction run, const Settings& settings, std::initializer_list<BufferId> buffers) {
    emit_shared(run, std::make_shared<const Settings>(settings), buffers);
  }
  // Steps emitted from here on belong to the second half: everything after the loss.
  void mark_second_half() { half_ = drafts_.size(); }

  // Plans, allocates (zeroed) and resolves. too_large if the arena would exceed `arena_bytes_max` or memory is short.
  Status finish(uint64_t arena_bytes_max);

  // --- running
  void run_first_half(const StepContext& context) const { run_steps(0, half_, context); }
  void run_second_half(const StepContext& context) const { run_steps(half_, steps_.size(), context); }
  float* input() const { return at(buffers_[input_]); }
  float* region(Region region) const;

  size_t step_count() const { return steps_.size(); }
  const ArenaFigures& figures() const { return figures_; }

 private:
  struct Buffer {
    bool is_planned;
    Region region;
    uint64_t offset;  // planned: in the planned part; fixed: in its region
    uint64_t bytes;
  };
  struct Draft {
    StepFunction run;
    std::array<BufferId, Step::kBuffersMax> buffers;
    std::shared_ptr<const void> settings;
  };
  struct ArenaDeleter {
    void operator()(uint8_t* arena) const;
  };

  void emit_shared(StepFunction run, std::shared_ptr<const void> settings, std::initializer_list<BufferId> buffers);
  void plan();
  float* at(const Buffer& buffer) const;
  void run_steps(size_t from, size_t to, const StepContext& context) const {
    for (size_t i = from; i < to; ++i) steps_[i].run(steps_[i], context);
  }

  std::vector<Buffer> buffers_;
  std::vector<Draft> drafts_;  // owns the settings
  std::vector<Step> steps_;
  size_t half_ = 0;
  BufferId input_ = kNoBuffer;
  std::array<uint64_t, kRegions> region_bytes_{};
  std::array<uint64_t, kRegions> region_offset_{};
  uint64_t planned_offset_ = 0;
  ArenaFigures figures_;
  std::unique_ptr<uint8_t, ArenaDeleter> arena_;
};

}  // namespace coterie
