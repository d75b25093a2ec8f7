// WorkPool: threads for tensor work (adding updates, spilling sums, opening masks, finalizing). Tasks must not throw.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace coterie {

class WorkPool {
 public:
  using Task = std::function<void()>;

  WorkPool() = default;
  ~WorkPool() { stop(); }
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  void start(size_t threads);
  // False: the pool stops, and will not run it.
  bool post(Task task);
  // work(part) for each part below `parts`, once: on this thread and those of the pool that have nothing else to do.
  // Returns when all are done, which needs no other thread, so that a task may call it.
  void run_parts(size_t parts, const std::function<void(size_t part)>& work);
  // Runs what was posted, then joins.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  size_t thread_count_ = 0;  // said before the first thread runs: tasks ask for it while others are still being started
  std::vector<std::thread> threads_;
};

}  // namespace coterie
