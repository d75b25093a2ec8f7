#include "fl_server/events/event_log.h"

#include <utility>

#include "fl_server/events/event_json.h"

namespace coterie {

size_t EventLog::bytes_of(const Event& event) {
  return sizeof(Event) + event.job.value().size() + event.tenant.size() + event::text(event.what).size() +
         event.json.size();
}

std::shared_ptr<const Event> EventLog::add(WallTime time, JobId job, event::What what, std::string tenant) {
  Event made{
      .seq = ++newest_, .time = time, .job = std::move(job), .what = std::move(what), .tenant = std::move(tenant)};
  made.json = event_json(made);
  auto event = std::make_shared<const Event>(std::move(made));
  bytes_ += bytes_of(*event);
  events_.push_back(event);
  while (events_.size() > 1 && (events_.size() > limits_.events_max || bytes_ > limits_.bytes_max)) {
    bytes_ -= bytes_of(*events_.front());
    events_.pop_front();
  }
  return event;
}

EventPage EventLog::after(uint64_t seq, const EventFilter& filter, size_t events_max) const {
  const uint64_t gone = newest_ - events_.size();  // the number of the newest event that is not here any more
  // A number above the newest is of another log, whatever the reader says.
  if (seq < gone || seq > newest_) return {.events = {}, .seq = newest_, .missed = true};
  EventPage page{.events = {}, .seq = seq, .missed = false};
  for (size_t at = seq - gone; at < events_.size() && page.events.size() < events_max; ++at) {
    page.seq = events_[at]->seq;
    if (shows(filter, *events_[at])) page.events.push_back(events_[at]);
  }
  return page;
}

}  // namespace coterie
