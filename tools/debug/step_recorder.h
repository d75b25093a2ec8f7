// StepRecorder: records what a Trainer's step makes, to the same bits as without it.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "device_sdk/runtime/step_runner.h"
#include "device_sdk/watch/watch_plan.h"
#include "tools/debug/step_record.h"

namespace coterie {

class StepRecorder final : public StepRunner {
 public:
  // For one trainer of `model`, which outlives it, `is_trained` being its trainable_tensors(). The options'
  // joins_steps is false, so that every op's output is there.
  StepRecorder(const Model& model, const std::vector<bool>& is_trained, uint64_t bytes_max = kStepRecordBytesMax);

  // Trainer::step, recorded. None where it looked at held-out examples. A step that fails has a record that says so.
  // Errors: those of Trainer::step in front of a step's first op.
  Result<std::optional<StepRecord>> step(Trainer& trainer);

  // --- StepRunner
  void begin(const BatchMoment& moment) override;
  void run(const Program& program, const Arena& arena, Phase phase, const StepContext& context) override;
  void scaled(std::span<const float>) override {}

 private:
  struct Asked {  // of a phase of a program; the views are of the trainer's memory
    std::vector<WatchedStep> steps;
    std::vector<RecordedInput> inputs;
  };

  const Asked& asked_of(const Program& program, const Arena& arena, Phase phase);
  bool keep(TensorView& view);  // copies what it shows; false: there is no room
  void keep_inputs(const Asked& asked);
  void keep_before(const WatchedStep& from, WatchedStep& to);
  void keep_behind(const WatchedStep& from, WatchedStep& to);

  const Model& model_;
  WatchPlan everything_;
  WatchedTensors tensors_;
  uint64_t bytes_max_;
  std::map<std::pair<const Program*, Phase>, Asked> asked_;
  StepRecord record_;
  uint64_t bytes_ = 0, batches_ = 0;
};

}  // namespace coterie
