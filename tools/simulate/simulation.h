// Simulation: the rounds of a job, one after the other, on a virtual fleet.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fl_server/records/batch.h"
#include "fl_server/store/directory_blob_store.h"
#include "scheduler/job/round_terms.h"
#include "scheduler/selection/trained_reports.h"
#include "tools/admin/round_report.h"
#include "tools/simulate/cohort_workers.h"
#include "tools/simulate/resting_devices.h"
#include "tools/simulate/virtual_buffers.h"
#include "tools/simulate/virtual_round.h"

namespace coterie {

struct AskedWork;  // cohort_trainer.h
class VirtualCohorts;

// One attempt, in numbers.
struct SimulatedRound {
  RoundReport report;  // seconds are virtual, train_seconds real
  VirtualRound plan;
};

// Between two rounds: all that the next ones depend on, but for what devices keep.
struct SimulationPosition {
  uint64_t rounds_done = 0;
  uint64_t examples_median = 0;
  ModelRecord base;  // evaluations aside, but for the loss that adaptive_mu compares with
  // Older versions that devices train from now, by their number: where rounds are buffered.
  std::map<uint64_t, Digest> older = {};
};
// The files that it names: those of the base model first, each once.
std::vector<Digest> files_of(const SimulationPosition& position);

class Simulation {
 public:
  // `evaluation` is what each model is judged on; `directory` is for models and sums while it runs. `fleet` and
  // `workers` outlive this. Without `evaluates` no model is judged. Errors: those of the store and of the model.
  static Result<Simulation> begin(const HorizontalSettings& job, const Bytes& model, const Bytes& evaluation,
                                  const std::string& directory, const VirtualFleet& fleet, CohortWorkers& workers,
                                  bool evaluates = true);

  // One attempt of the next round. Errors: those of training and of the finalizer; timed_out if the round has failed
  // attempts_max times.
  Result<SimulatedRound> attempt();
  uint64_t rounds_done() const { return record_.rounds_done; }
  uint64_t rounds() const { return record_.spec.horizontal().rounds.count; }  // of the job
  uint32_t devices() const { return fleet_->devices; }
  // The length of what a device keeps from round to round, if the job has devices keep anything.
  uint64_t state_values() const { return state_values_; }
  Result<Bytes> model() const;
  Result<Bytes> file(const Digest& digest) const;
  SimulationPosition position() const { return {record_.rounds_done, examples_median_, base_, older_}; }
  // None where rounds are synchronous.
  std::optional<BufferedTotals> buffered() const { return buffers_ ? std::optional(buffers_->totals()) : std::nullopt; }
  // As if its rounds had been simulated here; `files` has those of files_of, in their order. Errors: malformed (the
  // older versions are not those that devices have by then, or no rounds of the job are so many); those of the store.
  Status go_on(const SimulationPosition& position, const std::vector<Bytes>& files);

 private:
  Simulation(JobRecord record, const VirtualFleet& fleet, CohortWorkers& workers, bool evaluates)
      : record_(std::move(record)),
        fleet_(&fleet),
        workers_(&workers),
        evaluates_(evaluates),
        resting_(record_.spec.horizontal().rounds.separation_min) {}
  RoundFacts facts() const {
    return {.number = record_.rounds_done + 1,
            .examples_median = examples_median_,
            .proximal_mu = base_.adaptive_mu ? std::optional(base_.adaptive_mu->mu) : std::nullopt,
            .state = base_.optimizer_state,
            .deltas = base_.deltas};
  }
  Status move_to(const ModelRecord& next);
  Result<std::shared_ptr<const AskedWork>> asked_by(uint64_t version, const Digest& digest) const;
  Result<CohortWork> work_of(const VirtualRound& plan) const;
  void remember_asked(const VirtualRound& round);
  void remember_counted(const VirtualRound& round);
  Result<PartialRecord> sum_of(const VirtualRound& plan, const RoundKey& key);

  JobRecord record_;
  const VirtualFleet* fleet_;
  CohortWorkers* workers_;
  bool evaluates_;
  std::unique_ptr<DirectoryBlobStore> blobs_;
  ModelRecord base_;
  std::map<uint64_t, Digest> older_;       // as in SimulationPosition
  std::optional<VirtualBuffers> buffers_;  // of a job with buffered rounds
  std::unique_ptr<Accumulator> sum_;
  VirtualCohorts* cohorts_ = nullptr;  // the sum, where a rule compares cohorts
  uint32_t attempts_ = 0;              // of the round under way
  uint64_t examples_median_ = 0;       // of the last round
  uint64_t state_values_ = 0;
  RestingDevices resting_;  // in the round under way; buffers_ has its own
  TrainedReports reports_;  // for the draw, as the check-in desk has them
};

}  // namespace coterie
