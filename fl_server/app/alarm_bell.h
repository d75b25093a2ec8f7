// AlarmBell: looks at this process's metrics again and again, on a thread of its own, and keeps what is alarming
// (alarm_watch.h decides). An alarm that begins or ends is a line in the log.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/time.h"
#include "fl_server/telemetry/alarm_watch.h"
#include "fl_server/telemetry/metrics.h"

namespace coterie {

class AlarmBell {
 public:
  // `metrics` outlive it.
  explicit AlarmBell(const Metrics& metrics);
  ~AlarmBell();
  AlarmBell(const AlarmBell&) = delete;
  AlarmBell& operator=(const AlarmBell&) = delete;

  // As of the last look, at most AlarmWatch::kLookEvery ago. From any thread.
  std::vector<Alarm> alarms() const;

 private:
  void run();
  void look();

  const Metrics& metrics_;
  AlarmWatch watch_;  // of the thread
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Alarm> alarms_;  // guarded by mutex_
  bool stopping_ = false;      // likewise
  std::thread thread_;
};

}  // namespace coterie
