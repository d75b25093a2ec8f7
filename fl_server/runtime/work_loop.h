// WorkLoop: one thread that runs tasks in the order they were posted, and wakes a client at its deadline.
//
// The core runs on one (so machines need no locks), the store's writes on another. Tasks must not throw. After stop()
// returns, every task that was posted before has run, and later ones are dropped.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/time.h"

namespace coterie {

class WorkLoop {
 public:
  using Task = std::function<void()>;

  WorkLoop() = default;
  ~WorkLoop() { stop(); }
  WorkLoop(const WorkLoop&) = delete;
  WorkLoop& operator=(const WorkLoop&) = delete;

  // Starts the thread. `on_deadline` runs on it whenever the time `next_deadline` last answered has come; both may be
  // empty.
  void start(Task on_deadline = {}, std::function<std::optional<Instant>()> next_deadline = {});
  // Whether it will run: not after stop().
  bool post(Task task);
  // How long the oldest task that has not begun waits; 0 if none does. Any thread.
  Millis delay() const;
  void stop();

 private:
  void run();

  struct Posted {
    Task task;
    Instant at;
  };

  Task on_deadline_;
  std::function<std::optional<Instant>()> next_deadline_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Posted> tasks_;
  std::atomic<Instant> next_posted_{Instant::max()};  // of the batch that runs: when its next task was posted
  bool stopping_ = false;
  bool running_ = false;
  std::thread thread_;
};

}  // namespace coterie
