#include "fl_server/runtime/body_pool.h"

#include <cstdlib>

#include "base/checked.h"

namespace coterie {
namespace {

constexpr size_t kAlignment = 64;

}  // namespace

void* BodyPool::allocate_aligned(size_t bytes) { return std::aligned_alloc(kAlignment, bytes); }

void BodyPool::Free::operator()(uint8_t* memory) const { std::free(memory); }

Result<BodyPool::Body> BodyPool::acquire(size_t size) {
  Block block = take(*state_, size);
  if (!block.memory) {
    return Error(ErrorCode::overloaded,
                 "the server gets no memory for a body of " + std::to_string(size) + " bytes; come back later");
  }
  uint8_t* const memory = block.memory.get();
  const size_t capacity = block.capacity;
  block.memory.release();
  std::shared_ptr<void> storage(memory, [state = state_, capacity](void* returned) {
    Block back;
    back.memory.reset(static_cast<uint8_t*>(returned));
    back.capacity = capacity;
    give_back(*state, std::move(back));
  });
  return Body{std::move(storage), {memory, size}};
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
  fresh.memory.reset(static_cast<uint8_t*>(state.allocate(fresh.capacity)));
  if (fresh.memory) return fresh;
  free_idle(state);  // may be what is missing
  fresh.memory.reset(static_cast<uint8_t*>(state.allocate(fresh.capacity)));
  return fresh;
}

void BodyPool::free_idle(State& state) {
  std::vector<Block> idle;  // freed behind the lock
  const std::lock_guard lock(state.mutex);
  idle.swap(state.idle);
  state.idle_bytes = 0;
}

void BodyPool::give_back(State& state, Block block) {
  const std::lock_guard lock(state.mutex);
  if (state.idle_bytes + block.capacity > state.idle_bytes_max) return;  // freed with `block`
  state.idle_bytes += block.capacity;
  state.idle.push_back(std::move(block));
}

}  // namespace coterie
