#include "device_sdk/runtime/thread_pool.h"

#include <string>
#include <system_error>

#include "base/assert.h"
#include "base/text/concat.h"
#include "device_sdk/runtime/flush_denormals.h"
#include "device_sdk/runtime/left_out.h"
#include "device_sdk/runtime/part_times.h"

namespace coterie {
namespace {

// A pause takes 20 to 140 cycles on x86; behind so many the processor is offered to others, which costs half a
// microsecond where there are none. To be woken costs tens of microseconds, and the one who wakes some too: between the
// steps of a training step nobody sleeps.
constexpr int kSpins = 1000, kYields = 2000;

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("isb");
#endif
}

constexpr uint64_t number_of(uint64_t ticket) { return ticket >> 32; }
constexpr uint64_t next_of(uint64_t ticket) { return ticket >> 16 & 0xffff; }
constexpr uint64_t parts_of(uint64_t ticket) { return ticket & 0xffff; }

}  // namespace

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(uint32_t threads) {
  COT_ASSERT(threads >= 1);
  std::unique_ptr<ThreadPool> pool(new ThreadPool);
  if (!kHasThreads) {
    if (threads == 1) return pool;
    return left_out("threads must be 1", "threads");
  }
  try {
    for (uint32_t i = 1; i < threads; ++i) pool->workers_.emplace_back([p = pool.get(), i] { p->work(i); });
  } catch (const std::system_error& error) {
    return Error(ErrorCode::unavailable, concat({"the system starts no more threads than ", pool->threads(), " of ",
                                                 threads, ": ", error.what()}));
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  if (!kHasThreads) return;
  is_ending_ = true;
  // A ticket without parts: whoever sleeps wakes up, and finds that it ends.
  ticket_.store((number_of(ticket_.load()) + 1) << 32);
  ticket_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(Task task, const void* job, size_t parts) {
  COT_ASSERT(parts >= 1 && parts <= 0xffff);
  task_ = task;
  job_ = job;
  // Before the ticket: its release is what makes these three visible to whoever takes a part.
  unfinished_.store(static_cast<uint32_t>(parts), std::memory_order_relaxed);
  const uint64_t number = (number_of(ticket_.load(std::memory_order_relaxed)) + 1) & 0xffffffff;
  ticket_.store(number << 32 | parts, std::memory_order_release);
  ticket_.notify_all();
  while (run_next_part(0)) {
  }
  for (int spins = 0; unfinished_.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins < kSpins) relax();
    else std::this_thread::yield();
  }
}

bool ThreadPool::run_next_part(uint32_t thread) {
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  do {
    if (next_of(ticket) >= parts_of(ticket)) return false;
  } while (
      !ticket_.compare_exchange_weak(ticket, ticket + 0x10000, std::memory_order_acq_rel, std::memory_order_acquire));
  run_part(next_of(ticket), thread);
  unfinished_.fetch_sub(1, std::memory_order_acq_rel);
  return true;
}

void ThreadPool::run_part(size_t part, uint32_t thread) {
  if (!times_) return task_(job_, part);
  const double begin = times_->now();
  task_(job_, part);
  times_->add(thread, begin);
}

void ThreadPool::work(uint32_t thread) {
  // A mode of each thread: without it a part's bits would depend on who runs it.
  const FlushDenormals flush;
  int spins = 0;
  while (!is_ending_.load(std::memory_order_relaxed)) {
    if (run_next_part(thread)) {
      spins = 0;
    } else if (++spins < kSpins) {
      relax();
    } else if (spins < kSpins + kYields) {
      std::this_thread::yield();
    } else {
      const uint64_t seen = ticket_.load(std::memory_order_acquire);
      if (next_of(seen) >= parts_of(seen) && !is_ending_) ticket_.wait(seen, std::memory_order_acquire);
      spins = 0;
    }
  }
}

}  // namespace coterie
