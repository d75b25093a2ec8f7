#include "fl_server/events/event_hub.h"

#include <utility>

#include "base/os/clock.h"

namespace coterie {

void EventHub::add(const JobId& job, event::What what) {
  std::shared_ptr<const Event> event;
  {
    // The time is read inside, so that the times in the log do not go back where the numbers go on.
    const std::lock_guard lock(log_mutex_);
    const auto tenant = tenants_.find(job);
    event = log_.add(os::wall_now(), job, std::move(what), tenant == tenants_.end() ? std::string() : tenant->second);
  }
  // On this thread, so that a log line has the trace of the request that caused it.
  for (EventSubscriber* subscriber : subscribers_) subscriber->happened(*event);
  wake();
}

void EventHub::belongs_to(const JobId& job, std::string tenant) {
  const std::lock_guard lock(log_mutex_);
  tenants_[job] = std::move(tenant);
}

void EventHub::forget(const JobId& job) {
  const std::lock_guard lock(log_mutex_);
  tenants_.erase(job);
}

EventId EventHub::newest() const {
  const std::lock_guard lock(log_mutex_);
  return {.epoch = epoch_, .seq = log_.newest()};
}

EventPage EventHub::after(const EventId& read, const EventFilter& filter, size_t events_max) const {
  const std::lock_guard lock(log_mutex_);
  if (read.epoch != epoch_) return {.events = {}, .seq = log_.newest(), .missed = true};
  return log_.after(read.seq, filter, events_max);
}

void EventHub::wake() {
  const std::lock_guard lock(wakes_mutex_);
  for (const auto& wake : wakes_) wake();
}

std::unique_ptr<EventHub::Watch> EventHub::watch(std::function<void()> wake) {
  const std::lock_guard lock(wakes_mutex_);
  return std::unique_ptr<Watch>(new Watch(*this, wakes_.insert(wakes_.end(), std::move(wake))));
}

EventHub::Watch::~Watch() {
  const std::lock_guard lock(hub_.wakes_mutex_);
  hub_.wakes_.erase(place_);
}

}  // namespace coterie
