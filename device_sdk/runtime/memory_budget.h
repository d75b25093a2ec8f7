// Training within a budget: the larger a micro-batch, the faster and the more memory.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/train_options.h"

namespace coterie {

// The largest micro-batch that divides options.batch_size and with which Trainer::plan needs at most `bytes` for that
// many examples. Errors: too_large, which says the least that would do; and those of Trainer::plan.
Result<uint32_t> micro_batch_within(const Model& model, const TrainOptions& options, uint64_t examples, uint64_t bytes);

}  // namespace coterie
