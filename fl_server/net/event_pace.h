// When the streams of a listener look for events, and when each says that it is still there. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace coterie {

// A comment, when nothing happens, so that nobody in between gives up. Those of all streams that are due within
// kHeartbeatGrid come together.
inline constexpr Millis kHeartbeatEvery{15'000};
inline constexpr Millis kHeartbeatGrid{1'000};

// A client that takes nothing for so long is cut off. It comes back with Last-Event-ID and is told the rest.
inline constexpr Millis kEventsTakenWithin{30'000};

// Between two looks of a thread's streams: so much may happen before the next. Behind kLooksAtOnce streams each further
// one adds to everybody's rest, so that all of a server's look at most kLooksPerSecondMax times a second. Nobody rests
// longer than kEventsRestMax, though: a stream that rests hears neither its reader's end nor the server's.
inline constexpr Millis kEventsRest{50}, kEventsRestMax{2'000};
inline constexpr uint32_t kLooksPerSecondMax = 400;
inline constexpr uint32_t kLooksAtOnce = kLooksPerSecondMax * kEventsRest.count() / 1000;

constexpr Millis events_rest(uint32_t streams) {
  if (streams <= kLooksAtOnce) return kEventsRest;
  return std::min(kEventsRestMax, Millis(int64_t{streams} * 1000 / kLooksPerSecondMax));
}

// The longest that a stream writes nothing.
inline constexpr Millis kEventsQuietMax = kHeartbeatEvery + kHeartbeatGrid + kEventsRestMax;

// When a stream that wrote last at `wrote` has its heartbeat.
constexpr Instant heartbeat_due(Instant wrote) {
  const Instant due = wrote + kHeartbeatEvery;
  const Millis past = due.time_since_epoch() % kHeartbeatGrid;
  return past == Millis(0) ? due : due + kHeartbeatGrid - past;
}

}  // namespace coterie
