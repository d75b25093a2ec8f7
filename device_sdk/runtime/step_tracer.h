// StepTracer: keeps when each step of a program ran while a model trained, which threads ran parts of it, and how much
// memory the process had. Pure: the clock and the meter are handed in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "device_sdk/runtime/part_times.h"
#include "device_sdk/runtime/step_info.h"

namespace coterie {

class Program;
class ThreadPool;
struct StepContext;

// When a step of the program ran, in seconds of the clock; on the thread that trains, whoever computed parts of it.
struct StepTime {
  uint32_t training_step = 0;  // of those that were measured, from 0
  uint32_t step = 0;           // of TrainingTrace::steps
  double begin = 0, end = 0;
};

// When a thread ran a part of a step that was cut. Those of thread 0, which trains, are inside the StepTime of it.
struct PartTime {
  uint32_t step = 0;    // of TrainingTrace::steps
  uint32_t thread = 0;  // of the pool
  double begin = 0, end = 0;
};

struct MemorySample {
  double when = 0;
  uint64_t resident_bytes = 0;  // of the whole process
};

// Each step of the program in each step of training: one begins where the one before ended, so that they add up.
struct TrainingTrace {
  static constexpr size_t kTimesMax = 1 << 20;      // of steps, and of parts: whole steps of training, no more
  static constexpr double kMemoryIntervalS = 0.01;  // a reading of the process's memory may take 20 us

  std::vector<StepInfo> steps;  // those that a step of training runs, in their order
  std::vector<StepTime> times;
  std::vector<PartTime> parts = {};         // none where one thread trains
  std::vector<MemorySample> resident = {};  // in front of steps of training, kMemoryIntervalS apart or more

  size_t training_steps() const { return steps.empty() ? 0 : times.size() / steps.size(); }  // that it has whole
};

class StepTracer {
 public:
  // `now`: monotonic, in seconds; any thread may read it. `resident_bytes` may be empty. `trace` outlives this, and
  // begins anew.
  StepTracer(TrainingTrace& trace, std::function<double()> now, std::function<uint64_t()> resident_bytes);

  // In front of a step of training, which runs all steps of `program` in their order: forward, backward, update. The
  // program is always the same one. `pool`, which may be null, keeps times of parts from now on.
  void begin_step(const Program& program, ThreadPool* pool);
  // Runs the steps of a phase, one by one.
  void run(const Program& program, Phase phase, const StepContext& context);
  // For who runs them: the next step of the program has run.
  void ran(double begin, double end);

 private:
  void sample_memory();

  TrainingTrace& trace_;
  const std::function<double()> now_;
  const std::function<uint64_t()> resident_bytes_;
  std::shared_ptr<PartTimes> part_times_;  // null: no pool
  uint32_t threads_ = 1;
  std::vector<PartTimes::Part> parts_;
  uint32_t training_step_ = 0, step_ = 0;  // the next
  bool is_kept_ = false;                   // the step of training under way
};

}  // namespace coterie
