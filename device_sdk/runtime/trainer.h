// Trainer: trains one model on this device's examples, a mini-batch at a time.
//
// create() compiles the model into a program and allocates everything; step() then neither allocates nor decides. Two
// trainers with the same model, options, data and instruction set hold the same bits after every step; so does one that
// went through save_checkpoint and restore_checkpoint.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/train_options.h"

namespace coterie {

// Since the start of training.
struct TrainingSummary {
  uint64_t steps = 0;
  uint64_t examples = 0;  // seen, with repetition
  double loss_sum =
      0;  // of each step the loss that it lowers, a mean over the rows of its examples, times its examples
  uint64_t correct = 0;  // rows (of an ordinary classifier: examples) whose label was the output's largest; else 0
  uint64_t rows = 0;     // all of them but those whose label is ignored
  uint64_t skipped = 0;  // steps that changed nothing, because their scaled gradient was not finite
  friend bool operator==(const TrainingSummary&, const TrainingSummary&) = default;
};

// What came of examples that were held out (TrainOptions::early_stopping); all 0 where there are none.
struct ValidationSummary {
  uint64_t examples = 0;     // held out
  uint64_t best_step = 0;    // after so many steps their loss was lowest; 0: it was never looked at, or never finite
  double best_loss = 0;      // then: a mean, as Evaluation::loss_mean
  bool has_stopped = false;  // training ended for them
  uint64_t last_step = 0;    // after so many steps they were looked at last; 0: never
  friend bool operator==(const ValidationSummary&, const ValidationSummary&) = default;
};

struct TrainingMemory {
  uint64_t arena_bytes = 0;           // everything that grows with the model and the batch, in one block
  uint64_t parameter_bytes = 0;       // of which parameters
  uint64_t optimizer_bytes = 0;       // of which optimizer state
  uint64_t gradient_bytes = 0;        // of which gradients that are added up over micro-batches, or clipped together
  uint64_t prepared_bytes = 0;        // of which what is computed once and read in every step (prepared.h)
  uint64_t planned_bytes = 0;         // of which activations, gradients and scratch, overlaid
  uint64_t planned_lower_bound = 0;   // the least that any plan of them needs
  uint64_t order_bytes = 0;           // beside the arena: the shuffled order of the examples
  uint64_t validation_bytes = 0;      // beside the arena: what looks at held-out examples, and the best parameters
  uint32_t micro_batch_size = 0;      // examples computed at a time
  uint32_t recomputed_steps = 0;      // computed again rather than held, to keep to planned_bytes_max
  double recomputed_share = 0;        // the time that takes, as a share of the rest; an estimate
  uint32_t narrowed_tensors = 0;      // held as bfloat16 between forward and backward; 0: none is
  uint64_t narrowed_bytes_saved = 0;  // by which planned_bytes of one thread, without a limit, is smaller for it

  uint64_t bytes() const { return arena_bytes + order_bytes + validation_bytes; }  // all of it
};

struct HeadResult;    // loss_heads.h
struct TrainerState;  // trainer_state.h
class StepRunner;     // step_runner.h
class TrainingParts;  // training_parts.h

// Not thread-safe; one thread at a time. Moves freely.
class Trainer {
 public:
  // Keeps a handle to the model and a reference to `examples`, which must outlive the trainer. A batch is never larger
  // than the data. Errors: invalid_argument (options, no examples, a loss that does not fit the model), too_large.
  static Result<Trainer> create(const Model& model, const TrainOptions& options, ExampleSource& examples);
  // The same where something else computes parts of the model (delegate/training_delegation.h): not to our kernels'
  // bits. `parts` outlives the trainer and serves no other. step() then takes no StepRunner. Errors: those of `parts`
  // too.
  static Result<Trainer> create(const Model& model, const TrainOptions& options, ExampleSource& examples,
                                TrainingParts& parts);
  // What memory() of a trainer on so many examples would say; allocates none of it. Errors: as create, but
  // where planned_bytes_max is too little it says the least that would do.
  static Result<TrainingMemory> plan(const Model& model, const TrainOptions& options, uint64_t examples);
  // A trainer for a job's plan.
  static Result<Trainer> create(const Model& model, const TrainingSettings& settings, ExampleSource& examples,
                                uint64_t seed) {
    return create(model, options_of(settings, seed), examples);
  }
  // Begins anew on other examples, which outlive the trainer: to the same bits as a new one of the same model, options
  // and instruction set with this seed, but nothing is compiled. False, and nothing has changed, where it cannot: so
  // many examples make batches of other sizes, or the options hold some out or augment them.
  bool restart(ExampleSource& examples, uint64_t seed);
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  // `epochs` are done, steps_max is reached, or held-out examples have stopped gaining; and they were looked at.
  bool finished() const;
  // Steps of the whole training, as far as nothing ends it before.
  uint64_t steps_in_all() const;
  // Trains on the next mini-batch; the last of an epoch may be smaller. Examples are shuffled at the start of each
  // epoch. Where some are held out, the steps behind an epoch look at them instead, a batch each; such a step counts
  // nowhere, and `runner` sees none of it. On an error nothing has changed: the source's own, invalid_argument (a label
  // out of range, or the loss is no longer finite: training diverged), conflict (finished). But where a step has
  // several micro-batches, the running statistics of batch norm have moved with those before the one that failed.
  // `runner`, if there is one, runs the step's programs, to the same bits; it is not kept. With TrainingParts: a part
  // that fails is computed by our kernels from then on, and the step done again; statistics are put back where it fails
  // all the same (too_large: without the part more memory is needed; the next call tries again).
  Status step(StepRunner* runner = nullptr);
  // With heads: loss_sum of their weighted sum, and correct and rows of the first one's output.
  TrainingSummary summary() const;
  // Each head's part of summary(), in their order; empty without heads.
  std::vector<HeadResult> heads() const;
  // As summary() was when the present epoch began, perhaps before a restore; but `skipped`, which nobody kept, is 0.
  TrainingSummary epoch_start() const;
  ValidationSummary validation() const;
  // What the last look at them came to that this trainer has finished: a mean; 0: it has finished none.
  double validation_loss() const;
  // Steps that parameters() has gone through: of the training so far, or of what is kept of it.
  uint64_t kept_steps() const;
  // The rate of the next step: the schedule applied.
  double learning_rate() const;

  // The flat vector; valid until the next step. A finished training that held examples out gives the best ones.
  std::span<const float> parameters() const;
  // out[i] = trained - starting value; `out` has the model's value_count().
  void delta(std::span<float> out) const;

  // Writes everything that step() depends on, durably and atomically: `path` holds the old checkpoint or the new one.
  Status save_checkpoint(const std::string& path) const;
  // Continues where the checkpoint was taken, to the same bits; what a killed process left of an unfinished one is
  // removed. On an error nothing has changed: data_loss (truncated, damaged), conflict (of another model; of another
  // training, naming the options that differ, or `data` (training_identity.h); plain, and options have a cipher; or a
  // file of another kind), permission_denied (encrypted, and they have none or one with another key),
  // unsupported_version (written before 0.3), and those of reading a file.
  Status restore_checkpoint(const std::string& path);

  TrainingMemory memory() const;
  uint64_t arena_bytes() const { return memory().arena_bytes; }

 private:
  explicit Trainer(std::unique_ptr<TrainerState> state);
  static Result<Trainer> create_with(const Model& model, const TrainOptions& options, ExampleSource& examples,
                                     TrainingParts* parts);

  std::unique_ptr<TrainerState> state_;
};

}  // namespace coterie
