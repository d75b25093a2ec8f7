// Trainer: trains one model on this device's examples, a mini-batch at a time.
//
// create() compiles the model into a program and allocates everything; step() then neither allocates nor decides. Two
// trainers with the same model, settings, data, seed and instruction set hold the same bits after every step; so does
// one that went through save_checkpoint and restore_checkpoint.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/model.h"
#include "proto/messages/plan.h"

namespace coterie {

// Since the start of training.
struct TrainingSummary {
  uint64_t steps = 0;
  uint64_t examples = 0;  // seen, with repetition
  double loss_sum = 0;    // over those examples, as each was met
  uint64_t correct = 0;   // of those examples; 0 for a regression
  friend bool operator==(const TrainingSummary&, const TrainingSummary&) = default;
};

struct TrainingMemory {
  uint64_t arena_bytes = 0;              // everything that grows with the model and the batch, in one block
  uint64_t parameter_bytes = 0;          // of which parameters
  uint64_t optimizer_bytes = 0;          // of which optimizer state
  uint64_t planned_bytes = 0;            // of which activations, gradients and scratch, overlaid
  uint64_t planned_lower_bound = 0;      // the least that any plan of them needs
  uint64_t order_bytes = 0;              // beside the arena: the shuffled order of the examples
};

struct TrainerLimits {
  uint64_t arena_bytes_max = limits::kArenaBytesMax;
};

struct TrainerState;  // trainer_state.h

// Not thread-safe; one thread at a time. Moves freely.
class Trainer {
 public:
  // Keeps a handle to the model and a reference to `examples`, which must outlive the trainer. A batch is never larger
  // than the data. Errors: invalid_argument (settings, no examples, a loss that does not fit the model), too_large.
  static Result<Trainer> create(const Model& model, const TrainingSettings& settings, ExampleSource& examples,
                                uint64_t seed, const TrainerLimits& limits = {});
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  // local_epochs are done or steps_max is reached.
  bool finished() const;
  // Trains on the next mini-batch; the last of an epoch may be smaller. Examples are shuffled at the start of each
  // epoch. On an error nothing has changed: the source's own, invalid_argument (a label out of range, or the loss is
  // no longer finite: training diverged), conflict (finished).
  Status step();
  TrainingSummary summary() const;

  // The flat vector; valid until the next step.
  std::span<const float> parameters() const;
  // out[i] = trained - starting value; `out` has the model's value_count().
  void delta(std::span<float> out) const;

  // Writes everything that step() depends on, durably and atomically: `path` holds the old checkpoint or the new one.
  Status save_checkpoint(const std::string& path) const;
  // Continues where the checkpoint was taken, to the same bits. On an error nothing has changed: data_loss (truncated,
  // damaged), conflict (of another model, data set or settings), and those of reading a file.
  Status restore_checkpoint(const std::string& path);

  TrainingMemory memory() const;
  uint64_t arena_bytes() const { return memory().arena_bytes; }

 private:
  explicit Trainer(std::unique_ptr<TrainerState> state);

  std::unique_ptr<TrainerState> state_;
};

}  // namespace coterie
