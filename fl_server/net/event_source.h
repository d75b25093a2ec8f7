// EventSource: what an answer of type text/event-stream says, as it happens (server-sent events, HTML Living
// Standard 9.2). The connection asks it every kEventsEvery and sends what it says; it ends with the source, with the
// client or when the server drains. The answer has no length, so the connection is closed behind it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace coterie {

inline constexpr Millis kEventsEvery{250};
inline constexpr Millis kHeartbeatEvery{15'000};  // a comment, when nothing happens: so that nobody in between gives up

class EventSource {
 public:
  virtual ~EventSource() = default;
  // What has happened since the last call: events (event_text), or "" if nothing has. Nothing at all: the stream is
  // over. On the connection's thread: must not block.
  virtual std::optional<std::string> next() = 0;
};

// One event; `data` is one line.
inline std::string event_text(std::string_view event, std::string_view data) {
  return "event: " + std::string(event) + "\ndata: " + std::string(data) + "\n\n";
}

}  // namespace coterie
