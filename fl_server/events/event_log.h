// EventLog: the newest events of a server, numbered without a gap. Pure: no clock, no lock.
//
// A ring: when it is full, by number or by bytes, the oldest goes. Whoever reads keeps the number of the event it read
// last and asks for what came after; if that is gone already, or was never there, it is told that it missed something.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "fl_server/events/event.h"
#include "fl_server/events/event_filter.h"

namespace coterie {

inline constexpr size_t kEventsMax = 10'000;
inline constexpr size_t kEventBytesMax = 8 << 20;  // of all events in the log, with their texts

struct EventLimits {
  size_t events_max = kEventsMax;
  size_t bytes_max = kEventBytesMax;
};

// What a reader gets.
struct EventPage {
  std::vector<std::shared_ptr<const Event>> events;  // oldest first
  uint64_t seq = 0;                                  // read up to here
  // Between what it asked for and what there is lies something that the log does not know: no events, and `seq` is that
  // of the newest event.
  bool missed = false;
};

class EventLog {
 public:
  explicit EventLog(EventLimits limits = {}) : limits_(limits) {}

  // The newest event stays whatever its size.
  std::shared_ptr<const Event> add(WallTime time, JobId job, event::What what, std::string tenant = {});
  // The first `events_max` events that the filter shows with a number above `seq`.
  EventPage after(uint64_t seq, const EventFilter& filter, size_t events_max) const;
  uint64_t newest() const { return newest_; }
  size_t size() const { return events_.size(); }
  size_t bytes() const { return bytes_; }

  // What an event counts in bytes(): itself and its texts, that of its readers among them.
  static size_t bytes_of(const Event& event);

 private:
  EventLimits limits_;
  std::deque<std::shared_ptr<const Event>> events_;  // of numbers without a gap, up to newest_
  uint64_t newest_ = 0;
  size_t bytes_ = 0;
};

}  // namespace coterie
