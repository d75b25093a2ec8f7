// ThreadPool: a few threads that run the parts of one step at the same time (program.h).
//
// The host asks for it (TrainOptions::threads); without it the engine starts no thread. Between two steps the workers
// look for work for about a millisecond and then sleep, so that an idle trainer costs nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"

namespace coterie {

class PartTimes;

class ThreadPool {
 public:
  // `threads` with the caller's own: threads - 1 are started. unavailable if the system starts no more.
  static Result<std::unique_ptr<ThreadPool>> create(uint32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  uint32_t threads() const { return static_cast<uint32_t>(workers_.size()) + 1; }

  // Calls task(job, part) once for each part in [0, parts) and returns when all have returned. The caller works too: a
  // worker that the system keeps waiting delays nobody but the part that it has begun. By one thread at a time; parts
  // is at least 1 and below 2^16; tasks throw nothing.
  using Task = void (*)(const void* job, size_t part);
  void run(Task task, const void* job, size_t parts);

  // Tells `times`, for as many threads; null: nobody. Between two run().
  void keep_times(std::shared_ptr<PartTimes> times) { times_ = std::move(times); }

 private:
  ThreadPool() = default;
  void work(uint32_t thread);
  bool run_next_part(uint32_t thread);
  void run_part(size_t part, uint32_t thread);

  // What is being run: its number << 32 | the next part << 16 | parts. A part is taken by counting it up. task_ and
  // job_ are read by whoever has taken a part, and written while none is left to take and none is unfinished.
  std::atomic<uint64_t> ticket_{0};
  std::atomic<uint32_t> unfinished_{0};
  std::atomic<bool> is_ending_{false};
  Task task_ = nullptr;
  const void* job_ = nullptr;
  std::shared_ptr<PartTimes> times_;  // read as task_ is
  std::vector<std::thread> workers_;
};

}  // namespace coterie
