// What a Trainer is between two steps; shared with checkpoint.cc alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "device_sdk/runtime/batch_program.h"
#include "device_sdk/runtime/optimizer_rule.h"
#include "device_sdk/runtime/trainer.h"

namespace coterie {

struct TrainerState {
  // Fixed by create().
  Model model;
  TrainingSettings settings;
  ExampleSource& examples;
  uint32_t batch_size;  // of the settings, or the whole data set if that is smaller
  Arena arena;          // its regions hold parameters and optimizer state
  BatchProgram whole;
  std::optional<BatchProgram> rest;  // the last batch of an epoch, if it is smaller
  uint64_t planned_lower_bound = 0;

  // Changed by every step.
  Prng random;
  std::vector<uint32_t> order;  // of the examples, in this epoch; shuffled again as it ends
  uint32_t epoch = 0;
  uint64_t position = 0;  // in `order`; below its size
  uint64_t step = 0;      // also the optimizer's
  uint64_t seen = 0;
  uint64_t correct = 0;
  double loss_sum = 0;

  std::span<float> region(Region region) const { return arena.region(region); }
  BatchProgram& program_for(size_t batch) { return batch == batch_size ? whole : *rest; }
  uint32_t slots() const { return optimizer_slots(settings.optimizer); }
};

}  // namespace coterie
