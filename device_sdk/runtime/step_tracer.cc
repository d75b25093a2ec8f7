#include "device_sdk/runtime/step_tracer.h"

#include <utility>

#include "device_sdk/runtime/program.h"
#include "device_sdk/runtime/thread_pool.h"

namespace coterie {

StepTracer::StepTracer(TrainingTrace& trace, std::function<double()> now, std::function<uint64_t()> resident_bytes)
    : trace_(trace), now_(std::move(now)), resident_bytes_(std::move(resident_bytes)) {
  trace_ = {};
}

void StepTracer::begin_step(const Program& program, ThreadPool* pool) {
  if (trace_.steps.empty()) {
    trace_.steps = program.steps();
    std::erase_if(trace_.steps, [](const StepInfo& step) { return step.phase == Phase::prepare; });
  }
  if (pool != nullptr && part_times_ == nullptr) {
    threads_ = pool->threads();
    part_times_ = std::make_shared<PartTimes>(now_, threads_);
    pool->keep_times(part_times_);
  }
  const size_t steps = trace_.steps.size();
  is_kept_ = trace_.times.size() + steps <= TrainingTrace::kTimesMax &&
             trace_.parts.size() + steps * threads_ <= TrainingTrace::kTimesMax;
  ++training_step_;
  step_ = 0;
  if (is_kept_ && resident_bytes_) sample_memory();
}

void StepTracer::sample_memory() {
  const double now = now_();
  const bool is_due = trace_.resident.empty() || now - trace_.resident.back().when >= TrainingTrace::kMemoryIntervalS;
  if (is_due) trace_.resident.push_back({now, resident_bytes_()});
}

void StepTracer::run(const Program& program, Phase phase, const StepContext& context) {
  double last = now_();
  for (size_t i = 0; i < program.step_count(phase); ++i) {
    program.run_step(phase, i, context);
    const double now = now_();
    ran(last, now);
    last = now;
  }
}

void StepTracer::ran(double begin, double end) {
  const uint32_t step = step_++;
  parts_.clear();
  if (part_times_) part_times_->take(parts_);
  if (!is_kept_) return;
  trace_.times.push_back({training_step_ - 1, step, begin, end});
  for (const PartTimes::Part& part : parts_) trace_.parts.push_back({step, part.thread, part.begin, part.end});
}

}  // namespace coterie
