// EventSource: what an answer of type text/event-stream says, as it happens (server-sent events, HTML Living
// Standard 9.2). The connection asks when it is woken and sends what it hears; the stream ends with the source, with
// the client or when the server drains. The answer has no length, so the connection is closed behind it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace coterie {

class EventSource {
 public:
  virtual ~EventSource() = default;
  // What has happened since the last call: events (event_text), or "" if nothing has. Nothing at all: the stream is
  // over. Called when woken, while has_more(), and now and then besides. On the connection's thread: must not block.
  virtual std::optional<std::string> next() = 0;
  // Whether next() has left something to tell, or the end: no wake is needed.
  virtual bool has_more() const = 0;
  // Called once, before next(): `wake` is to be called, on any thread, when next() may have something; not after this
  // is gone. It does not block.
  virtual void when_ready(std::function<void()> wake) = 0;
};

// One event; `id` and `data` are one line each.
inline std::string event_text(std::string_view id, std::string_view event, std::string_view data) {
  std::string text = "id: ";
  text.append(id).append("\nevent: ").append(event).append("\ndata: ").append(data).append("\n\n");
  return text;
}

}  // namespace coterie
