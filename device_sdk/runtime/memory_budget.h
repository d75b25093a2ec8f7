// Training within a budget: what backward needs may be computed again rather than held, to the same bits, and
// a batch may be computed in parts, whose gradients are added up.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/train_options.h"

namespace coterie {

// What to train with.
struct MemoryFit {
  uint32_t micro_batch_size = 0;   // of TrainOptions
  uint64_t planned_bytes_max = 0;  // likewise; 0 if nothing need be computed again
  uint32_t recomputed_steps = 0;   // TrainingMemory
  double recomputed_share = 0;
};

// The cheapest way of training that needs at most `bytes` for that many examples: of the micro-batches that
// divide options.batch_size (only options.micro_batch_size, if that is not 0), each with what it has to
// compute again. Where batch norm takes the statistics of what it is given, a micro-batch would give others:
// the whole batch if at all possible. Errors: too_large, which says the least that would do; and those of
// Trainer::plan.
Result<MemoryFit> fit_training_within(const Model& model, const TrainOptions& options, uint64_t examples,
                                      uint64_t bytes);

}  // namespace coterie
