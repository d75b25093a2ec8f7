#include "fl_server/app/alarm_bell.h"

#include <algorithm>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/telemetry/alarm_counts.h"
#include "fl_server/telemetry/collected_metrics.h"

namespace coterie {
namespace {

bool has(const std::vector<Alarm>& alarms, const Alarm& alarm) {
  return std::ranges::any_of(alarms,
                             [&](const Alarm& other) { return other.rule == alarm.rule && other.of == alarm.of; });
}

// Those of `alarms` that `others` lack.
void log_new(std::string_view event, const std::vector<Alarm>& alarms, const std::vector<Alarm>& others) {
  for (const Alarm& alarm : alarms) {
    if (!has(others, alarm)) log(LogLevel::warning, event, {{"alarm", alarm.rule->name}, {"of", alarm.of}});
  }
}

}  // namespace

AlarmBell::AlarmBell(const Metrics& metrics) : metrics_(metrics), thread_([this] { run(); }) {}

AlarmBell::~AlarmBell() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::vector<Alarm> AlarmBell::alarms() const {
  const std::lock_guard lock(mutex_);
  return alarms_;
}

void AlarmBell::run() {
  std::unique_lock lock(mutex_);
  do {
    lock.unlock();
    look();
    lock.lock();
  } while (!wake_.wait_for(lock, AlarmWatch::kLookEvery, [this] { return stopping_; }));
}

void AlarmBell::look() {
  watch_.observe(os::monotonic_now(), os::wall_now(), alarm_counts_of(metrics_.collect()));
  std::vector<Alarm> now = watch_.alarms();
  const std::vector<Alarm> before = alarms();
  log_new("alarm_began", now, before);
  log_new("alarm_ended", before, now);
  const std::lock_guard lock(mutex_);
  alarms_ = std::move(now);
}

}  // namespace coterie
