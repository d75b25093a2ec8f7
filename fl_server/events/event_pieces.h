// EventPieces: the log of events as one stream tells it, one piece after the other. Each event that the filter shows is
// told once, in order.
#pragma once

#include <string>

#include "fl_server/events/event_hub.h"

namespace coterie {

class EventPieces {
 public:
  // `hub` outlives this. The first piece begins behind `read`.
  EventPieces(EventHub& hub, EventFilter filter, EventId read)
      : hub_(hub), filter_(std::move(filter)), read_(std::move(read)) {}

  struct Piece {
    std::string text;       // of at most kEventsPerPiece events; empty if there is none
    uint64_t told = 0;      // the number of the last of them
    bool missed = false;    // events behind `read` are gone: no text, and `read` is now the newest event
    bool has_more = false;  // the next piece may have text
  };
  // In one piece. More would only lie in memory until the reader has taken it: the log keeps the rest.
  static constexpr size_t kEventsPerPiece = 100;
  Piece next();

  // Everything up to here was looked at.
  const EventId& read() const { return read_; }

 private:
  EventHub& hub_;
  const EventFilter filter_;
  EventId read_;
};

}  // namespace coterie
