// VerticalJobFollower: looks at a coordinator's jobs, on a thread of its own, and adds what has changed to the events.
// A coordinator that cannot be asked is a line in the log, once for each time that it goes.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/time.h"
#include "fl_server/events/event_hub.h"
#include "fl_server/vertical_jobs/job_changes.h"
#include "fl_server/vertical_jobs/vertical_jobs.h"

namespace coterie {

class VerticalJobFollower {
 public:
  // Both outlive it.
  VerticalJobFollower(VerticalJobs& jobs, EventHub& events, Millis look_every);
  // Ends when the question under way has been answered.
  ~VerticalJobFollower();
  VerticalJobFollower(const VerticalJobFollower&) = delete;
  VerticalJobFollower& operator=(const VerticalJobFollower&) = delete;

  // Something was changed: it looks at once. From any thread.
  void look_now();

 private:
  void run();
  void look();

  VerticalJobs& jobs_;
  EventHub& events_;
  const Millis look_every_;
  VerticalJobChanges changes_;
  bool is_away_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_asked_ = true, is_stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace coterie
