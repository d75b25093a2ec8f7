// CohortTrainer: the devices of one round train on all cores; their updates are summed, or kept, as the server does it.
//
// In a drill (tools/attack/attack.h) some devices lie. Then all updates are in memory until everybody has trained, as
// some lies are made of them.
//
// The sum is of integers modulo 2^64 (aggregation/accumulate/ring_sum.h): the number of threads changes no bit of it,
// nor of the totals, which are added in the devices' order.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "aggregation/accumulate/accumulator.h"
#include "device_sdk/runtime/model.h"
#include "proto/messages/plan.h"
#include "scheduler/job/records.h"
#include "tools/attack/attack.h"
#include "tools/simulate/cohort_workers.h"
#include "tools/simulate/device_states.h"

namespace coterie {

class UpdateLayout;

struct TrainedUpdate;
struct WidthWork;

// What devices are asked by: the plan of a round, and its model.
struct AskedWork {
  Plan plan;
  Model model;  // as devices train it: model_to_train (device_sdk/runtime/lora.h)
  std::shared_ptr<const UpdateLayout> layout;
  Digest digest;  // of the given model's file
  ModelVersion version;
  std::vector<float> control = {};                            // the server's, of a plan that names one
  std::optional<Model> stacked = {};                          // of a plan with clusters, the file that holds them all
  std::vector<Model> clusters = {};                           // and each by itself
  std::shared_ptr<const std::vector<WidthWork>> widths = {};  // of a plan that has some; else null
};

struct VirtualTraining {
  uint32_t device = 0;                     // from 0
  std::shared_ptr<const AskedWork> asked;  // in buffered rounds perhaps by an earlier round
  float weight = 1;                        // that its update has for being late (proto/messages/staleness.h)
};

// The trainings that a round counts. All are of one job: what their plans say of updates is the same.
using CohortWork = std::vector<VirtualTraining>;

// What a virtual device is called where updates are named by their device: in the order of numbers.
DeviceId virtual_device(uint32_t device);

// The group that a virtual device is in, from 1, of a job with so many: they take turns, as in the split labels:turned.
// 0: the job has none.
uint32_t virtual_group(uint32_t device, uint32_t groups);

// How some of so many devices lie.
struct Drill {
  Attack attack;
  uint32_t devices = 0;
};

class CohortTrainer final : public CohortWorkers {
 public:
  // Device d has the data set file shard_files[d % size], of which it does not train on `held_out_share`. `watch` is
  // told how many updates are done, on the caller's thread, several times a second.
  CohortTrainer(std::vector<std::string> shard_files, uint64_t seed, uint32_t threads,
                std::function<void(uint64_t)> watch, const Drill& drill = {}, float held_out_share = 0);
  ~CohortTrainer() override;

  // The error, where there are several, is that of the first device by its number.
  Result<RoundTotals> train(const CohortWork& work, Accumulator& sum) override;
  std::vector<RoundTotals> totals() const override;
  uint64_t examples_median() const override;
  void round_is_done() override { states_.commit(); }
  DeviceStates& states() { return states_; }
  const DeviceStates& states() const { return states_; }

 private:
  struct Outcome {
    RoundTotals totals;
    std::vector<float> state;  // that the device keeps if the round is done; empty: none
    std::optional<Error> error;
    std::vector<float> delta;  // in a drill
  };
  struct Worker;
  void work_off(const CohortWork& work, Worker& worker, Accumulator& sum);
  Result<TrainedUpdate> train_one(const VirtualTraining& asked_for, bool flips, Worker& worker,
                                  std::vector<float>& state) const;
  Status add_drilled(const CohortWork& work, Accumulator& sum);
  std::vector<bool> liars_of(const CohortWork& work) const;

  std::vector<std::string> shard_files_;
  uint64_t seed_;
  std::function<void(uint64_t)> watch_;
  Drill drill_;
  float held_out_share_;
  std::vector<std::unique_ptr<Worker>> workers_;  // of each thread
  std::vector<Outcome> outcomes_;
  std::vector<bool> lies_;  // by place in the work
  DeviceStates states_;
  std::atomic<size_t> next_{0}, done_{0};
  std::atomic<bool> is_stopped_{false};
};

}  // namespace coterie
