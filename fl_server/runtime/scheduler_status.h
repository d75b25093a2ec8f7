// What is going on now, for status pages.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "fl_server/events/job_now.h"
#include "scheduler/job/records.h"

namespace coterie {

struct SchedulerStatus {
  struct Job {
    JobId job;
    std::optional<RoundRecord> round;
    uint64_t accepted = 0;
    uint32_t selected = 0;
  };
  std::vector<Job> jobs;
  std::map<Population, uint64_t> waiting;
  uint32_t nodes = 0;  // that talk to devices
};

// StatusBoard: the status as it was put up last. Thread-safe.
class StatusBoard {
 public:
  void put(SchedulerStatus status);
  SchedulerStatus status() const;
  // Nothing: no machine runs this job, or not yet.
  std::optional<JobNow> now_of(const JobId& job, const Population& population) const;

 private:
  mutable std::mutex mutex_;
  SchedulerStatus status_;
};

}  // namespace coterie
