// EventId: where a reader of events stands: which log, and up to which event it has read. As text
// "9f3c00d15ab2e471-42", which is what Last-Event-ID has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace coterie {

struct EventId {
  std::string epoch;  // of one log, and so of one life of a process: 16 hexadecimal digits
  uint64_t seq = 0;   // 0: before its first event

  std::string text() const { return epoch + "-" + std::to_string(seq); }
  // malformed: it is not of this form.
  static Result<EventId> parse(std::string_view text);
  friend bool operator==(const EventId&, const EventId&) = default;
};

}  // namespace coterie
