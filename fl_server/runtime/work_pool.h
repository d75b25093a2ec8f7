// WorkPool: threads for tensor work (adding updates, spilling sums, finalizing). Tasks must not throw.
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
  void post(Task task);
  // Runs what was posted, then joins.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace coterie
