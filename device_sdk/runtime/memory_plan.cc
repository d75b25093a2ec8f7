#include "device_sdk/runtime/memory_plan.h"

#include <algorithm>

#include "base/checked.h"
#include "base/order/sort_key.h"

namespace coterie {
namespace {

// How often an order is improved, and how many pairs of buffers are looked at for it: some milliseconds.
constexpr size_t kRoundsMax = 40, kPairsMax = 4'000'000;

struct Placed {
  uint64_t offset, end;
  const Lifetime* life;
};

enum class Fit : uint8_t { first, best };

// The offset of the first or the smallest gap of at least `bytes` between buffers that live at the same time, or behind
// the last.
uint64_t fitting(std::span<const Placed> placed, const Lifetime& life, uint64_t bytes, Fit fit) {
  uint64_t free_from = 0, best = 0;
  uint64_t best_gap = ~0ull;
  for (const Placed& other : placed) {  // by offset
    if (!may_meet(*other.life, life)) continue;
    if (other.offset > free_from) {
      const uint64_t gap = other.offset - free_from;
      if (gap >= bytes && fit == Fit::first) return free_from;
      if (gap >= bytes && gap < best_gap) {
        best_gap = gap;
        best = free_from;
      }
    }
    free_from = std::max(free_from, other.end);
  }
  return best_gap == ~0ull ? free_from : best;
}

MemoryPlan place_in_order(std::span<const Lifetime> lifetimes, std::span<const uint32_t> order, Fit fit) {
  MemoryPlan plan;
  plan.offsets.resize(lifetimes.size());
  std::vector<Placed> placed;
  placed.reserve(lifetimes.size());
  for (const uint32_t index : order) {
    const Lifetime& life = lifetimes[index];
    const uint64_t bytes = round_up(life.bytes, kBufferAlignment);
    const uint64_t offset = fitting(placed, life, bytes, fit);
    const Placed mine{offset, offset + bytes, &life};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), mine,
                                   [](const Placed& a, const Placed& b) { return a.offset < b.offset; }),
                  mine);
    plan.offsets[index] = offset;
    plan.bytes = std::max(plan.bytes, mine.end);
  }
  return plan;
}

// Orders to place buffers in: what is put first finds the most room.
enum class Order : uint8_t { largest, longest, earliest, latest, largest_and_longest };

SortKey key_of(const Lifetime& l, Order order) {
  const uint64_t length = l.last - l.first;
  switch (order) {
    case Order::largest: return {~l.bytes, l.first, 0};
    case Order::longest: return {~length, ~l.bytes, 0};
    case Order::earliest: return {l.first, ~l.bytes, 0};
    case Order::latest: return {~uint64_t{l.last}, ~l.bytes, 0};
    case Order::largest_and_longest: break;
  }
  return {~(l.bytes * (length + 1)), l.first, 0};
}

std::vector<uint32_t> ordered(std::span<const Lifetime> lifetimes, Order order) {
  std::vector<SortKey> keys;
  keys.reserve(lifetimes.size());
  for (uint32_t i = 0; i < lifetimes.size(); ++i) {
    keys.push_back(key_of(lifetimes[i], order));
    keys.back().index = i;
  }
  sort(keys);
  std::vector<uint32_t> indices;
  indices.reserve(keys.size());
  for (const SortKey& key : keys) indices.push_back(key.index);
  return indices;
}

// The first of the buffers that end where the arena ends.
size_t topmost(std::span<const Lifetime> lifetimes, const MemoryPlan& plan) {
  size_t top = 0;
  while (plan.offsets[top] + round_up(lifetimes[top].bytes, kBufferAlignment) != plan.bytes) ++top;
  return top;
}

// Moves the buffer on top to the front of the order, again and again: it is then placed before what was in its way.
// Keeps the best.
void improve(std::span<const Lifetime> lifetimes, std::vector<uint32_t> order, Fit fit, uint64_t enough, size_t rounds,
             MemoryPlan& best) {
  MemoryPlan plan = place_in_order(lifetimes, order, fit);
  for (size_t round = 0;; ++round) {
    const size_t top = topmost(lifetimes, plan);
    if (best.offsets.empty() || plan.bytes < best.bytes) best = plan;
    if (best.bytes <= enough || round == rounds) return;
    const auto at = std::find(order.begin(), order.end(), static_cast<uint32_t>(top));
    if (at == order.begin()) return;  // where it lies is the lowest place
    std::rotate(order.begin(), at, at + 1);
    plan = place_in_order(lifetimes, order, fit);
  }
}

}  // namespace

uint64_t most_bytes_alive(std::span<const Lifetime> lifetimes) {
  // Sweep over births (before) and deaths (after) in step order.
  std::vector<SortKey> events;  // minor: whether it is a death
  events.reserve(2 * lifetimes.size());
  for (uint32_t i = 0; i < lifetimes.size(); ++i) {
    events.push_back({lifetimes[i].first, 0, i});
    events.push_back({lifetimes[i].last, 1, i});
  }
  sort(events);
  uint64_t alive = 0, most = 0;
  for (const SortKey& event : events) {
    const uint64_t bytes = round_up(lifetimes[event.index].bytes, kBufferAlignment);
    alive = event.minor == 1 ? alive - bytes : alive + bytes;
    most = std::max(most, alive);
  }
  return most;
}

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes) {
  if (lifetimes.empty()) return {};
  const uint64_t lower_bound = most_bytes_alive(lifetimes);
  const uint64_t enough = lower_bound + lower_bound / 256;
  const size_t pairs = lifetimes.size() * lifetimes.size();
  const size_t rounds = std::min(kRoundsMax, kPairsMax / pairs);
  MemoryPlan best;
  for (const Fit fit : {Fit::best, Fit::first}) {
    for (const Order order :
         {Order::largest, Order::longest, Order::earliest, Order::latest, Order::largest_and_longest}) {
      if (best.offsets.empty() || best.bytes > enough) {
        improve(lifetimes, ordered(lifetimes, order), fit, enough, rounds, best);
      }
    }
  }
  best.lower_bound = lower_bound;
  return best;
}

}  // namespace coterie
