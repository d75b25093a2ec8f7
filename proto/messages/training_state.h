// What training and aggregation keep on disk between two steps.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "proto/messages/norm_histogram.h"
#include "proto/messages/plan.h"

namespace coterie {

inline constexpr size_t kTrainingIdentityBytesMax = 8 * 1024;

// What one of several heads of a training has come to (device_sdk/runtime/loss_heads.h).
struct HeadState {
  double loss_sum = 0;  // not weighted
  double absolute_error = 0;
  uint64_t correct = 0;  // rows
  uint64_t ignored = 0;
  friend bool operator==(const HeadState&, const HeadState&) = default;
};

// Header of a training checkpoint. Payload: parameters, then `slots` optimizer slots, value_bytes each, then the
// optimizer's factors, factor_bytes, then the shuffled order of examples (uint32 each), then, with a best step, the
// parameters after it, then range_values floats: enough to go on to the same bits as if nothing had happened.
struct CheckpointHeader {
  Digest model;  // the model the session started from
  uint64_t step = 0;
  uint32_t epoch = 0;
  uint64_t position = 0;  // next example in the shuffled order
  std::array<uint64_t, 4> random{};
  uint64_t optimizer_step = 0;
  uint32_t slots = 0;
  uint64_t value_bytes = 0;
  uint64_t examples = 0;
  double loss_sum = 0;   // since the start of training
  uint64_t correct = 0;  // rows: several an example where the output has several
  uint64_t seen = 0;
  double epoch_loss_start = 0;  // loss_sum when this epoch began
  double plateau_best = 0;      // what the learning rate's schedule remembers
  uint32_t plateau_epochs_seen = 0;
  uint32_t plateau_epochs_without_progress = 0;
  double plateau_factor = 1;
  uint64_t seed = 0;                 // of dropout
  float loss_scale = 0;              // 0: none
  uint32_t good_steps = 0;           // since it changed
  uint64_t epoch_correct_start = 0;  // correct when this epoch began
  uint64_t ignored = 0;              // rows that count nowhere: of a label to be ignored
  uint64_t epoch_ignored_start = 0;
  std::string training = {};  // its identity; empty: of before there was one (0.2)
  // What held-out examples said (device_sdk/runtime/validation.h); all 0 where there are none.
  uint64_t validation_step = 0;
  uint64_t best_step = 0;
  double best_loss = 0;
  uint32_t checks_without_gain = 0;
  uint64_t factor_bytes = 0;  // of shampoo (device_sdk/runtime/shampoo_step.h)
  uint32_t range_values = 0;  // floats: ranges of activations that are rounded (device_sdk/runtime/fake_quantise.h)
  std::vector<HeadState> heads = {};
  friend bool operator==(const CheckpointHeader&, const CheckpointHeader&) = default;
};

// Header of one partial sum; the lanes are the payload.
struct PartialSumHeader {
  RoundKey round;
  std::string partial;  // node/incarnation/sequence
  uint32_t updates = 0;
  uint64_t weight_sum = 0;
  uint64_t value_count = 0;
  std::optional<NormHistogram> norms = {};  // of its updates; none: nobody may know, or nobody counted
  friend bool operator==(const PartialSumHeader&, const PartialSumHeader&) = default;
};

inline constexpr uint8_t kStateVectorsMax = 8;

// Header of what a server strategy carries from round to round; payload: its state vectors, one behind the other,
// float32.
struct OptimizerStateHeader {
  uint8_t strategy = 0;  // StrategyRule::stored_as
  uint64_t step = 0;     // rounds that it has seen
  uint64_t value_count = 0;
  uint8_t vectors = 0;  // 1 to kStateVectorsMax; with idle_updates also 0
  // In a job with clusters (model_clusters.h), for each of them: how many updates counted since one chose it.
  std::vector<uint32_t> idle_updates = {};
  friend bool operator==(const OptimizerStateHeader&, const OptimizerStateHeader&) = default;
};

}  // namespace coterie
