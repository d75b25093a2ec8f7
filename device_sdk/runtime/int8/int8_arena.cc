#include "device_sdk/runtime/int8/int8_arena.h"

#include "device_sdk/runtime/memory_plan.h"

namespace coterie {

// Value 0 is written before step 0; value k + 1 by step k; the output is read behind the last.
Int8Arena plan_int8_arena(const Int8Program& program) {
  std::vector<Lifetime> lifetimes;
  for (size_t value = 0; value < program.values.size(); ++value) {
    const auto made = static_cast<uint32_t>(value);
    // plan_memory counts in pieces of 64 bytes; told of one piece a byte, it plans in bytes.
    lifetimes.push_back({program.values[value].elements * kBufferAlignment, made, made});
  }
  for (size_t k = 0; k < program.steps.size(); ++k) {
    for (const uint32_t input : program.steps[k].inputs) lifetimes[input].last = static_cast<uint32_t>(k + 1);
  }
  lifetimes[program.output].last = static_cast<uint32_t>(program.steps.size());
  const MemoryPlan plan = plan_memory(lifetimes);
  Int8Arena arena{.offsets = {}, .bytes = plan.bytes / kBufferAlignment};
  for (const uint64_t offset : plan.offsets) arena.offsets.push_back(offset / kBufferAlignment);
  return arena;
}

}  // namespace coterie
