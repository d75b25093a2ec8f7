#include "fl_server/runtime/work_loop.h"

#include "base/os/clock.h"

namespace coterie {

void WorkLoop::start(Task on_deadline, std::function<std::optional<Instant>()> next_deadline) {
  on_deadline_ = std::move(on_deadline);
  next_deadline_ = std::move(next_deadline);
  running_ = true;
  thread_ = std::thread([this] { run(); });
}

bool WorkLoop::post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    tasks_.push_back({std::move(task), os::monotonic_now()});
    if (tasks_.size() > 1) return true;  // the thread is awake or about to be
  }
  wake_.notify_one();
  return true;
}

Millis WorkLoop::delay() const {
  Instant oldest = next_posted_;
  if (oldest == Instant::max()) {
    const std::lock_guard lock(mutex_);
    if (!tasks_.empty()) oldest = tasks_.front().at;
  }
  return oldest == Instant::max() ? Millis(0) : std::max(os::monotonic_now() - oldest, Millis(0));
}

void WorkLoop::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void WorkLoop::run() {
  std::deque<Posted> batch;
  for (;;) {
    const std::optional<Instant> deadline = next_deadline_ ? next_deadline_() : std::nullopt;
    {
      std::unique_lock lock(mutex_);
      const auto ready = [this] { return !tasks_.empty() || stopping_; };
      if (deadline) {
        const auto wait = *deadline - os::monotonic_now();
        wake_.wait_for(lock, std::max(wait, Millis(0)), ready);
      } else {
        wake_.wait(lock, ready);
      }
      batch.swap(tasks_);                      // all that there is: one lock for many tasks
      if (batch.empty() && stopping_) return;  // only then: what was posted before stop() still runs
    }
    for (size_t i = 0; i < batch.size(); ++i) {
      next_posted_ = i + 1 < batch.size() ? batch[i + 1].at : Instant::max();
      batch[i].task();
    }
    batch.clear();
    // The deadline of before the tasks. One that they have moved costs a call that finds nothing to do.
    if (deadline && os::monotonic_now() >= *deadline && on_deadline_) on_deadline_();
  }
}

}  // namespace coterie
