#include "fl_server/app/memory_return.h"

#include <malloc.h>

#include "base/log.h"
#include "fl_server/app/burst_watch.h"

namespace coterie {
namespace {

constexpr int kOwnPagesFromBytes = 128 * 1024;

}  // namespace

void give_large_blocks_pages_of_their_own() { ::mallopt(M_MMAP_THRESHOLD, kOwnPagesFromBytes); }

MemoryReturn::MemoryReturn(Millis every, std::function<uint64_t()> held, std::function<void()> free_idle)
    : held_(std::move(held)), free_idle_(std::move(free_idle)), thread_([this, every] { run(every); }) {}

MemoryReturn::~MemoryReturn() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void MemoryReturn::run(Millis every) {
  BurstWatch watch;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, every, [this] { return stopping_; })) {
    lock.unlock();
    if (watch.observe(held_())) {
      free_idle_();
      ::malloc_trim(0);
      log(LogLevel::debug, "memory_given_back");
    }
    lock.lock();
  }
}

}  // namespace coterie
