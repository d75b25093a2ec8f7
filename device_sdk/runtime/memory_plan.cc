#include "device_sdk/runtime/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/checked.h"

namespace coterie {
namespace {

struct Placed {
  uint64_t offset, end;
  uint32_t first, last;
};

uint64_t most_bytes_alive(std::span<const Lifetime> lifetimes) {
  // Sweep over births (before) and deaths (after) in step order.
  std::vector<std::tuple<uint32_t, bool, uint64_t>> events;
  for (const Lifetime& life : lifetimes) {
    const uint64_t bytes = round_up(life.bytes, kBufferAlignment);
    events.emplace_back(life.first, false, bytes);
    events.emplace_back(life.last, true, bytes);
  }
  std::sort(events.begin(), events.end());
  uint64_t alive = 0, most = 0;
  for (const auto& [step, dies, bytes] : events) {
    alive = dies ? alive - bytes : alive + bytes;
    most = std::max(most, alive);
  }
  return most;
}

// The offset of the smallest gap of at least `bytes` between buffers that live at the same time, or behind the last.
uint64_t best_fit(std::span<const Placed> placed, const Lifetime& life, uint64_t bytes) {
  uint64_t free_from = 0, best = 0;
  uint64_t best_gap = ~0ull;
  for (const Placed& other : placed) {  // by offset
    if (other.last < life.first || other.first > life.last) continue;
    if (other.offset > free_from) {
      const uint64_t gap = other.offset - free_from;
      if (gap >= bytes && gap < best_gap) {
        best_gap = gap;
        best = free_from;
      }
    }
    free_from = std::max(free_from, other.end);
  }
  return best_gap == ~0ull ? free_from : best;
}

MemoryPlan place_in_order(std::span<const Lifetime> lifetimes, std::span<const uint32_t> order) {
  MemoryPlan plan;
  plan.offsets.resize(lifetimes.size());
  std::vector<Placed> placed;
  placed.reserve(lifetimes.size());
  for (const uint32_t index : order) {
    const Lifetime& life = lifetimes[index];
    const uint64_t bytes = round_up(life.bytes, kBufferAlignment);
    const uint64_t offset = best_fit(placed, life, bytes);
    const Placed mine{offset, offset + bytes, life.first, life.last};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), mine,
                                   [](const Placed& a, const Placed& b) { return a.offset < b.offset; }),
                  mine);
    plan.offsets[index] = offset;
    plan.bytes = std::max(plan.bytes, mine.end);
  }
  return plan;
}

template <typename Key>
std::vector<uint32_t> ordered_by(std::span<const Lifetime> lifetimes, const Key& key) {
  std::vector<uint32_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return key(lifetimes[a]) < key(lifetimes[b]); });
  return order;
}

}  // namespace

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes) {
  using Key = std::tuple<uint64_t, uint64_t>;
  const std::vector<uint32_t> orders[] = {
      ordered_by(lifetimes, [](const Lifetime& l) { return Key(~l.bytes, l.first); }),
      ordered_by(lifetimes, [](const Lifetime& l) { return Key(~uint64_t{l.last - l.first}, ~l.bytes); }),
      ordered_by(lifetimes, [](const Lifetime& l) { return Key(l.first, ~l.bytes); }),
  };
  MemoryPlan best;
  for (const auto& order : orders) {
    MemoryPlan plan = place_in_order(lifetimes, order);
    if (best.offsets.empty() || plan.bytes < best.bytes) best = std::move(plan);
  }
  best.lower_bound = most_bytes_alive(lifetimes);
  return best;
}

}  // namespace coterie
