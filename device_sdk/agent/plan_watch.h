// PlanWatch: a round's training, watched as its plan asks (proto/messages/watch_settings.h), and what is told of it:
// lanes of 0 and 1 beside the update (proto/messages/watch_lanes.h). One place for the agent and for
// `coterie simulate`.
//
// Hits of a process that has ended are lost with it: the lanes are of the steps since the training was last resumed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/watch/watch.h"
#include "proto/messages/plan.h"
#include "proto/messages/watch_lanes.h"

namespace coterie {

struct TrainOptions;

class PlanWatch {
 public:
  // `model` is trained with `options` on so many examples, and its training has come to `from`.
  // Precondition: the plan has a watch. Errors: those of trainable_tensors.
  static Result<std::unique_ptr<PlanWatch>> create(const Model& model, const Plan& plan, const TrainOptions& options,
                                                   uint64_t examples, const TrainingSummary& from);

  // One step of the training, looked at where the schedule says so.
  Status step(Trainer& trainer);
  // 1 or 0, in the order of the plan's lanes.
  std::vector<float> lanes() const;
  // What the watch may come to hold.
  uint64_t bytes_max() const { return watch_.bytes_max(); }

 private:
  PlanWatch(const Model& model, const WatchSettings& settings, WatchPlan plan, const std::vector<bool>& is_trained,
            uint64_t steps_an_epoch, const TrainingSummary& from)
      : model_(model),
        settings_(settings),
        groups_(model.graph()),
        watch_(model_, std::move(plan), is_trained, steps_an_epoch, from) {}

  const Model model_;
  WatchSettings settings_;
  LayerGroups groups_;
  Watch watch_;
};

// As the checks of a job are asked on a device. Those that are recommended have their settings; no check has to hold
// for several steps: a device makes few, and how many devices it is for says as much.
WatchPlan watch_plan_of(const WatchSettings& settings, uint64_t seed);

}  // namespace coterie
