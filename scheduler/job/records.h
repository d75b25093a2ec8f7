// What is known about jobs, rounds and models once it is durable: the rows of the store, as plain structs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "proto/messages/cosine_histogram.h"
#include "proto/messages/download_rules.h"
#include "proto/messages/ledger_head.h"
#include "proto/messages/norm_histogram.h"
#include "scheduler/job/adaptive_mu_settings.h"
#include "scheduler/job/evaluated_head.h"
#include "scheduler/job/job_settings.h"
#include "scheduler/job/watch_outcome.h"

namespace coterie {

enum class JobState : uint8_t { running = 1, paused, completed, cancelled, failed };
std::string_view to_string(JobState state);

// selecting -> collecting -> frozen -> finalizing -> done
//        \________\___________\________\____________-> failed     (then attempt + 1, or the job fails)
enum class RoundState : uint8_t { selecting = 1, collecting, frozen, finalizing, done, failed };
std::string_view to_string(RoundState state);

struct JobRecord {
  JobId id;
  JobSettings spec;
  JobState state = JobState::running;
  std::string reason;  // of a failure
  Digest plan;
  uint32_t plan_bytes = 0;
  uint64_t value_count = 0;  // float32s in the model's payload
  // How many of them its updates have; 0: all, as in every job of before ADR 109. It stays with the job.
  uint64_t trained_value_count = 0;
  uint64_t rounds_done = 0;
  WallTime created;
  uint64_t revision = 1;  // grows with every change
  ModelValues values() const { return {value_count, trained_value_count}; }
};

// A new model: the outcome of a round, or the job's initial model (version 0, no round).
struct ModelRecord {
  JobId job;
  ModelVersion version;
  Digest digest;
  uint64_t bytes = 0;
  std::optional<Digest> optimizer_state;  // the server optimizer's moments after this round
  std::optional<double> evaluation_loss;
  std::optional<double> evaluation_accuracy;  // of a job whose targets are labels
  std::optional<double> evaluation_mae;       // of one whose targets are numbers: mean absolute error, in their unit
  std::optional<double> evaluation_r2;        // likewise: coefficient of determination; 0 is as good as their mean
  WallTime created;
  std::optional<double> clip_norm = {};  // adaptive: of devices that train from it
  // Only a job with deltas has these. Rounds go on from the exact values: what rounding has left out is not lost.
  std::optional<Digest> exact = {};                // a file of the same model before it was rounded; none: it was not
  std::vector<DeltaFile> deltas = {};              // to this version, as in DownloadRules
  std::optional<AdaptiveMu> adaptive_mu = {};      // where the job has it; none: the first version
  std::optional<WatchOutcome> watch = {};          // of the round that made it, where the job is watched
  std::optional<NormHistogram> update_norms = {};  // likewise, where the server sees each update, without noise
  std::optional<CosineHistogram> update_cosines = {};  // likewise, where it keeps each until the round is finalized
  std::vector<EvaluatedHead> evaluation_heads = {};    // of a job with heads, in their order
};

// Sums over the updates of one round, none of which can be told apart.
struct RoundTotals {
  uint64_t updates = 0;
  uint64_t weight = 0;
  uint64_t examples = 0;
  double loss_sum = 0;
  uint64_t correct = 0;
  uint64_t train_ms = 0;

  RoundTotals& operator+=(const RoundTotals& other) {
    updates += other.updates;
    weight += other.weight;
    examples += other.examples;
    loss_sum += other.loss_sum;
    correct += other.correct;
    train_ms += other.train_ms;
    return *this;
  }
  friend bool operator==(const RoundTotals&, const RoundTotals&) = default;
};

struct RoundRecord {
  RoundKey key;
  JobId job;
  uint64_t number = 0;  // 1, 2, ... within the job
  RoundState state = RoundState::selecting;
  std::string reason;  // of a failure
  ModelVersion base;   // the version the devices train from
  Digest base_model;
  uint64_t base_model_bytes = 0;
  uint32_t selected = 0;  // tickets issued, as far as known
  RoundTotals totals;     // set when done
  WallTime opened;
  WallTime closed{};
  LedgerHead ledger = {};  // as the attempt was opened, of a job that has one
  // The lower median of the examples that devices of the round before trained on, as they say it, with repetition: of a
  // job that caps a device's share. 0: not known.
  uint64_t examples_median = 0;
  double clip_norm = 0;                    // adaptive: as the base version's row has it; 0: the job's
  std::optional<double> proximal_mu = {};  // adaptive: likewise; none: the job's
};

}  // namespace coterie
