#include "fl_server/vertical_jobs/job_follower.h"

#include <utility>

#include "base/log.h"

namespace coterie {
namespace {

constexpr size_t kJobsMax = 1 << 16;  // as a coordinator keeps at most

}  // namespace

VerticalJobFollower::VerticalJobFollower(VerticalJobs& jobs, EventHub& events, Millis look_every)
    : jobs_(jobs), events_(events), look_every_(look_every), thread_([this] { run(); }) {}

VerticalJobFollower::~VerticalJobFollower() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void VerticalJobFollower::look_now() {
  {
    const std::lock_guard lock(mutex_);
    is_asked_ = true;
  }
  wake_.notify_all();
}

void VerticalJobFollower::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait_for(lock, look_every_, [this] { return is_asked_ || is_stopping_; });
    if (is_stopping_) return;
    is_asked_ = false;
    lock.unlock();
    look();
    lock.lock();
  }
}

void VerticalJobFollower::look() {
  const Result<vertical::JobSurvey> survey = jobs_.list(std::nullopt, kJobsMax);
  if (!survey) {
    if (!std::exchange(is_away_, true)) {
      log(LogLevel::warning, "vertical_coordinator_away", {{"reason", survey.error().message()}});
    }
    return;
  }
  if (std::exchange(is_away_, false)) log(LogLevel::info, "vertical_coordinator_back", {});
  const VerticalJobChanges::Changes changes = changes_.look(survey->jobs);
  for (const JobId& job : changes.known) events_.belongs_to(job, jobs_.tenant());
  for (const auto& [job, what] : changes.changed) {
    events_.belongs_to(job, jobs_.tenant());
    events_.add(job, what);
  }
  for (const JobId& job : changes.gone) events_.forget(job);
}

}  // namespace coterie
