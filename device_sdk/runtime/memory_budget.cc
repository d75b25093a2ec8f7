#include "device_sdk/runtime/memory_budget.h"

#include <algorithm>
#include <string>

#include "device_sdk/runtime/trainer.h"

namespace coterie {

Result<uint32_t> micro_batch_within(const Model& model, const TrainOptions& options, uint64_t examples,
                                    uint64_t bytes) {
  uint64_t least = UINT64_MAX;
  TrainOptions tried = options;
  tried.arena_bytes_max = limits::kArenaBytesMax;  // what does not fit says how much it is
  // Not monotonic: from the whole batch to its half, gradients get a region of their own.
  for (uint32_t size = std::max(1u, options.batch_size); size > 0; --size) {
    if (options.batch_size % size != 0) continue;
    tried.micro_batch_size = size;
    const Result<TrainingMemory> memory = Trainer::plan(model, tried, examples);
    if (!memory && memory.error().code() != ErrorCode::too_large) return memory.error();
    if (!memory && size == 1) return memory.error();
    if (!memory) continue;
    const uint64_t needed = memory->arena_bytes + memory->order_bytes;
    if (needed <= bytes) return size;
    least = std::min(least, needed);
  }
  return Error(ErrorCode::too_large, "training: " + std::to_string(bytes) + " bytes are too few; with these options it needs at least " +
                                         std::to_string(least));
}

}  // namespace coterie
