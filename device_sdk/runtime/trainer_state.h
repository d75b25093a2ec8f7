// What a Trainer is between two steps; shared with checkpoint.cc alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "device_sdk/runtime/batch_reader.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/optimizer_rule.h"
#include "device_sdk/runtime/trainer.h"

namespace coterie {

struct TrainerState {
  // Fixed by create().
  Model model;
  TrainingSettings settings;
  ExampleSource& examples;
  uint32_t batch_size;  // of the settings, or the whole data set if that is smaller
  Program program;      // its regions hold parameters and optimizer state
  BatchReader reader;

  // Changed by every step.
  Prng random;
  std::vector<uint32_t> order;  // of the examples, in this epoch; shuffled again as it ends
  uint32_t epoch = 0;
  uint64_t position = 0;  // in `order`; below its size
  uint64_t step = 0;      // also the optimizer's
  uint64_t seen = 0;
  uint64_t correct = 0;
  double loss_sum = 0;

  std::span<float> region(Region region) const { return {program.region(region), model.value_count()}; }
  uint32_t slots() const { return optimizer_slots(settings.optimizer); }
};

}  // namespace coterie
