// Follows a server's events over connections that end: each stream goes on behind the event that was told last.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "tools/admin/event_parser.h"

namespace coterie {

// Also what this says itself where the server refuses a stream and has another answer to what it would tell.
inline constexpr const char* kEventsMissed = "events_missed";

inline constexpr Millis kStreamAgainAfter{1'000};  // a stream has ended: its server stops, or leads no more
inline constexpr Millis kStreamRefusedFor{5'000};  // the server has as many streams as it may have
inline constexpr Millis kUnreachableMax{120'000};  // longer than a restart or a change of leader takes

struct EventsFrom {
  // Reads one stream from behind `last_id` (empty: from now on) and passes it to `sink` until the stream ends or the
  // sink fails, whose error it returns.
  std::function<Status(const std::string& last_id, const std::function<Status(ByteView piece)>& sink)> read;
  // Waits that long; an error ends it all.
  std::function<Status(Millis)> wait;
  std::function<Instant()> now;
};

// Takes what has come, and says whether that was the end of what it follows. Without events: the server lives, and
// nothing has happened. An event is told again if `tell` failed with `unavailable`.
using TellEvents = std::function<Result<bool>(const std::vector<SentEvent>& events)>;

// Until `tell` says that it is over. Errors: those of `tell` but `unavailable`; those of the source but `unavailable`,
// `timed_out` and `rate_limited`; these, too, once nothing has been told for kUnreachableMax.
Status follow_events(const EventsFrom& from, const TellEvents& tell);

}  // namespace coterie
