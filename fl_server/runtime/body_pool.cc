#include "fl_server/runtime/body_pool.h"

#include <cstdlib>

#include "base/assert.h"
#include "base/checked.h"

namespace coterie {
namespace {

constexpr size_t kAlignment = 64;

}  // namespace

void BodyPool::Free::operator()(uint8_t* memory) const { std::free(memory); }

BodyPool::Body BodyPool::acquire(size_t size) {
  Block block = take(*state_, size);
  uint8_t* const memory = block.memory.get();
  const size_t capacity = block.capacity;
  block.memory.release();
  std::shared_ptr<void> storage(memory, [state = state_, capacity](void* returned) {
    Block back;
    back.memory.reset(static_cast<uint8_t*>(returned));
    back.capacity = capacity;
    give_back(*state, std::move(back));
  });
  return {std::move(storage), {memory, size}};
}

BodyPool::Block BodyPool::take(State& state, size_t size) {
  {
    const std::lock_guard lock(state.mutex);
    // From the newest on, whose pages are the likeliest to be in the cache. A block that is far too large is left for a
    // body that needs it.
    for (size_t i = state.idle.size(); i > 0; --i) {
      Block& candidate = state.idle[i - 1];
      if (candidate.capacity < size || candidate.capacity > 2 * size + 4096) continue;
      Block found = std::move(candidate);
      state.idle.erase(state.idle.begin() + static_cast<ptrdiff_t>(i - 1));
      state.idle_bytes -= found.capacity;
      return found;
    }
  }
  Block fresh;
  fresh.capacity = round_up<size_t>(std::max<size_t>(size, 1), 4096);
  fresh.memory.reset(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, fresh.capacity)));
  COT_ASSERT(fresh.memory != nullptr);
  return fresh;
}

void BodyPool::give_back(State& state, Block block) {
  const std::lock_guard lock(state.mutex);
  if (state.idle_bytes + block.capacity > state.idle_bytes_max) return;  // freed with `block`
  state.idle_bytes += block.capacity;
  state.idle.push_back(std::move(block));
}

}  // namespace coterie
