// What a Trainer is between two steps; shared with checkpoint.cc alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "device_sdk/runtime/augment.h"
#include "device_sdk/runtime/batch_program.h"
#include "device_sdk/runtime/loss_rule.h"
#include "device_sdk/runtime/optimizer_rule.h"
#include "device_sdk/runtime/prepared.h"
#include "device_sdk/runtime/trainer.h"
#include "device_sdk/runtime/training_identity.h"
#include "device_sdk/runtime/validation.h"

namespace coterie {

class TrainingParts;  // training_parts.h

// What one head has come to since the start of training.
struct HeadTotals {
  double loss_sum = 0;  // as TrainingSummary has it; not weighted
  double absolute_error = 0;
  uint64_t correct = 0, ignored = 0;  // rows
};

struct TrainerState {
  // Fixed by create().
  Model model;
  TrainOptions options;
  std::unique_ptr<ExamplePart> part;           // null: all of the examples
  std::unique_ptr<AugmentedSource> augmented;  // null: they are read as they are
  ExampleSource* examples;                     // augmented, if there is one, or part; never null
  uint32_t batch_size;               // examples a step: of the options, or the whole data set if that is smaller
  uint32_t micro_batch_size;         // examples computed at a time
  std::unique_ptr<ThreadPool> pool;  // null: one thread
  Arena arena;                       // its regions hold parameters and optimizer state
  BatchProgram whole;                // for micro_batch_size
  std::optional<BatchProgram> rest;  // the last of an epoch, if it is smaller
  Prepared prepared;                 // of whole and rest
  uint64_t rows_an_example = 1;
  std::vector<double> norm_blocks;              // scratch of clipping
  std::vector<float> statistics;                // the state before the step, in case it is skipped or done again
  std::unique_ptr<Validation> validation = {};  // null: nothing is held out; else it changes with the steps
  TrainingParts* parts = nullptr;               // null: our kernels compute all of it
  bool has_given_up_part = false;               // the programs still have one: they are to be compiled anew

  std::vector<HeadSums> step_heads = {};    // scratch: the step's, one a head
  std::vector<uint64_t> step_ignored = {};  // likewise: rows

  // Changed by every step.
  Prng random;
  std::vector<uint32_t> order;  // of the examples, in this epoch; shuffled again as it ends
  uint32_t epoch = 0;
  uint64_t position = 0;  // in `order`; below its size
  uint64_t step = 0;      // batches that were met
  uint64_t skipped = 0;   // of which changed nothing: loss scaling
  LossScaleState loss_scale = {};
  uint64_t seen = 0;
  uint64_t correct = 0;
  double loss_sum = 0;
  PlateauState plateau = {};
  double epoch_loss_start = 0;       // loss_sum when this epoch began
  uint64_t epoch_correct_start = 0;  // likewise
  uint64_t ignored = 0;              // rows: LossSettings::ignore_label
  uint64_t epoch_ignored_start = 0;
  std::vector<HeadTotals> heads = {};  // empty: the training has one loss

  // For trainings with heads (trainer_heads.cc); the others have none, and these do nothing.
  void make_heads();           // behind create()
  void begin_step_of_heads();  // in front of a step
  // Adds what a micro-batch's heads have come to, behind forward. Their losses added up: finite if each of them is.
  double take_heads(const BatchProgram& code);
  // Counts a step of so many examples; the loss that it lowered, a mean.
  double count_heads(size_t batch);

  std::string identity() const { return training_identity(options, steps_in_all(), examples->digest()); }
  uint64_t optimizer_step() const { return step - skipped; }
  // Nothing is left to train; perhaps to look at.
  bool is_trained() const {
    return epoch >= options.epochs || (options.steps_max > 0 && step >= options.steps_max) ||
           (validation && validation->has_stopped());
  }
  // The held-out examples come next: behind each epoch, and at the end.
  bool is_check_due() const {
    return validation && step > 0 && validation->progress().step != step && (position == 0 || is_trained());
  }
  bool is_finished() const { return is_trained() && !is_check_due(); }
  bool gives_best() const { return validation && is_finished() && validation->has_best(); }
  std::span<float> region(Region region) const { return arena.region(region); }
  BatchProgram& program_for(size_t batch) { return batch == micro_batch_size ? whole : *rest; }
  uint32_t slots() const { return optimizer_slots(options.optimizer); }
  uint64_t steps_an_epoch() const { return (order.size() + batch_size - 1) / batch_size; }
  uint64_t steps_in_all() const {
    const uint64_t all = steps_an_epoch() * options.epochs;
    return options.steps_max > 0 ? std::min<uint64_t>(all, options.steps_max) : all;
  }
};

}  // namespace coterie
