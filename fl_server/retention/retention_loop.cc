#include "fl_server/retention/retention_loop.h"

#include <algorithm>

#include "base/log.h"
#include "base/os/clock.h"

namespace coterie {
namespace {

// How much longer it rests than it works; and while it is behind, as disks fill.
constexpr int kRestPerWork = 4, kRestPerWorkBehind = 1;
constexpr Millis kRestMin{5};

}  // namespace

RetentionLoop::RetentionLoop(RetentionSettings settings, RetentionParts parts, std::function<void()> after_pass)
    : every_(settings.look_every),
      after_pass_(std::move(after_pass)),
      job_(settings, std::move(parts)),
      thread_([this] { run(); }) {}

void RetentionLoop::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// The first pass after a wait, too: a server that starts has better to do.
void RetentionLoop::run() {
  Millis rest = every_;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, rest, [this] { return stopping_; })) {
    lock.unlock();
    rest = step();
    lock.lock();
  }
}

Millis RetentionLoop::step() {
  const Instant begin = os::monotonic_now();
  const Result<bool> more = job_.step();
  const Millis took = std::chrono::duration_cast<Millis>(os::monotonic_now() - begin);
  if (!more) log(LogLevel::warning, "retention_failed", {{"reason", more.error().message()}});
  if (more && *more) return std::max(kRestMin, (job_.is_behind() ? kRestPerWorkBehind : kRestPerWork) * took);
  after_pass_();
  const RetentionCounts& counts = job_.counts();
  if (counts != told_) {
    log(LogLevel::info, "retention_removed",
        {{"jobs", counts.jobs - told_.jobs},
         {"models", counts.models - told_.models},
         {"accepted", counts.accepted - told_.accepted},
         {"rounds", counts.rounds - told_.rounds},
         {"idempotency_keys", counts.keys - told_.keys},
         {"devices", counts.devices - told_.devices},
         {"audit_records", counts.audit - told_.audit},
         {"blobs", counts.blobs - told_.blobs}});
    told_ = counts;
  }
  return more && job_.is_unfinished() ? kRestMin : every_;
}

}  // namespace coterie
