// MemoryReturn: gives memory back to the system when a burst of connections and bodies is over (burst_watch.h decides).
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/time.h"

namespace coterie {

class MemoryReturn {
 public:
  // Both are called on a thread of this one's own, every `every`: how much is held now, and, before the allocator gives
  // back what is free, to have others free what they keep for the next.
  MemoryReturn(Millis every, std::function<uint64_t()> held, std::function<void()> free_idle);
  ~MemoryReturn();
  MemoryReturn(const MemoryReturn&) = delete;
  MemoryReturn& operator=(const MemoryReturn&) = delete;

 private:
  void run(Millis every);

  const std::function<uint64_t()> held_;
  const std::function<void()> free_idle_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

// How this process's allocator is to deal with bodies, before anything large is allocated: each of 128 KiB or more has
// pages of its own, which go back the moment it is freed. Left alone, glibc raises that threshold to the largest block
// it ever freed (up to 32 MB) and keeps such blocks.
void give_large_blocks_pages_of_their_own();

}  // namespace coterie
