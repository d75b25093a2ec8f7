// StepRecord: the tensors of one step of a training, as they were when each of them was made.
//
// What backward computes again, what steps of one op tell each other, and the optimizer's moments are not in it. Where
// a step has several micro-batches, outputs, labels and what backward makes are those of the first; gradients that the
// optimizer gets are those of all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "device_sdk/runtime/trainer.h"
#include "device_sdk/watch/watched_steps.h"

namespace coterie {

// A step's tensors take no more. What does not fit is left out, and counted.
inline constexpr uint64_t kStepRecordBytesMax = 1ull << 30;

struct RecordedInput {
  uint32_t tensor = kNoTensor;  // of the graph's inputs; kNoTensor: the loss's target, of several heads the first's
  TensorView values;
};

struct StepRecord {
  uint64_t step = 0;               // of the training, from 0
  std::vector<uint32_t> examples;  // of its first micro-batch
  TrainingSummary from, summary;   // in front of the step, and behind it; the same where it failed
  double loss = 0;                 // of the step; NaN where it failed
  double learning_rate = 0, next_learning_rate = 0;
  std::string error;  // why it failed; empty: it did not
  std::vector<RecordedInput> inputs;
  std::vector<WatchedStep> program;       // what ran, in order
  std::span<const float> before, behind;  // the parameters around it; behind: empty where it failed
  uint64_t left_out = 0;                  // tensors that there was no room for
  std::vector<Bytes> blocks;              // what the views above are of

  StepRecord() = default;
  StepRecord(StepRecord&&) = default;  // the blocks' bytes stay where they are
  StepRecord& operator=(StepRecord&&) = default;

  bool has_failed() const { return !error.empty(); }
};

}  // namespace coterie
