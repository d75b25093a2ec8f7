#include "fl_server/runtime/scheduler_status.h"

#include <algorithm>
#include <utility>

namespace coterie {

void StatusBoard::put(SchedulerStatus status) {
  const std::lock_guard lock(mutex_);
  status_ = std::move(status);
}

SchedulerStatus StatusBoard::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

std::optional<JobNow> StatusBoard::now_of(const JobId& job, const Population& population) const {
  const std::lock_guard lock(mutex_);
  const auto entry = std::ranges::find(status_.jobs, job, &SchedulerStatus::Job::job);
  if (entry == status_.jobs.end()) return std::nullopt;
  const auto waiting = status_.waiting.find(population);
  return JobNow{.round = entry->round,
                .accepted = entry->accepted,
                .selected = entry->selected,
                .waiting = waiting == status_.waiting.end() ? 0 : waiting->second};
}

}  // namespace coterie
