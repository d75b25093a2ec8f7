// Watch: asks a plan's checks while a Trainer trains, to the same bits as without it.
//
// In a step that is looked at (plan.every) each output of an op is read right behind the op, each gradient in front of
// the optimizer, and each weight in front of and behind the step; of a step of several micro-batches the outputs of the
// first. Steps that loss scaling skips are not judged by their weights. What a chain of elementwise ops never has in
// memory is not seen (Program::join_elementwise). Memory: a copy of the parameters, where a check compares them, and a
// few bytes for each check and tensor.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device_sdk/runtime/step_runner.h"
#include "device_sdk/watch/watch_hits.h"
#include "device_sdk/watch/watch_plan.h"

namespace coterie {

class Model;
class Trainer;
struct TrainingSummary;

class Watch final : public StepRunner {
 public:
  // For one trainer of `model`, `is_trained` being its trainable_tensors(), which has come to `from`. `model` must
  // outlive it. `steps_an_epoch`: at least 1.
  Watch(const Model& model, WatchPlan plan, const std::vector<bool>& is_trained, uint64_t steps_an_epoch,
        const TrainingSummary& from);
  ~Watch() override;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Behind each Trainer::step that went well.
  void end_step(const Trainer& trainer);
  // Behind one that failed. True: its tensors were not read, and will be where the caller runs it once more; the
  // weights in front of it, too. False: there is nothing more to see.
  bool look_again();

  // Begins anew, without hits, where its trainer has come to another state, as by a checkpoint.
  void restart(const TrainingSummary& from);

  const WatchPlan& plan() const;
  // What it may come to hold, whatever the training's length: the copy of the parameters, what it looks at around each
  // step, an entry for each check and tensor, and the plan's hits.
  uint64_t bytes_max() const;
  const WatchHits& hits() const;
  uint64_t looks() const;  // steps whose tensors were read
  // The first check of the plan that reads tensors of which this model has none, or none that is trained.
  const WatchedCheck* idle_check() const;

  // --- StepRunner
  void begin(const BatchMoment& moment) override;
  void run(const Program& program, const Arena& arena, Phase phase, const StepContext& context) override;
  void scaled(std::span<const float>) override {}

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace coterie
