// RetentionLoop: a RetentionJob on a thread of its own: a pass every `every`. Between two steps it waits for four times
// as long as the step took, so that a fifth of the store's time is for what goes. While the job is behind it waits for
// as long as the step took: up to half of the time, as disks would fill otherwise.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/time.h"
#include "fl_server/retention/retention_job.h"

namespace coterie {

class RetentionLoop {
 public:
  // `after_pass` is called on this thread.
  RetentionLoop(RetentionSettings settings, RetentionParts parts, std::function<void()> after_pass);
  ~RetentionLoop() { stop(); }
  RetentionLoop(const RetentionLoop&) = delete;
  RetentionLoop& operator=(const RetentionLoop&) = delete;

  // The step under way ends; then nothing is removed any more.
  void stop();

 private:
  void run();
  Millis step();  // until the next one

  const Millis every_;
  const std::function<void()> after_pass_;
  RetentionJob job_;
  RetentionCounts told_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace coterie
