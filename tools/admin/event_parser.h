// EventParser: server-sent events out of a stream of bytes (HTML Living Standard 9.2.6), in pieces of any size. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

struct SentEvent {
  std::string id;    // of the last event that had one; empty: none had
  std::string kind;  // "message" where the event has no name
  std::string data;
};

// Nothing longer is kept of what a server sends: the rest of a line, the data of an event, an id.
inline constexpr size_t kEventLineBytesMax = 64 * 1024;
inline constexpr size_t kEventDataBytesMax = 256 * 1024;
inline constexpr size_t kEventIdBytesMax = 128;

class EventParser {
 public:
  // `last_id`: of the last event of the stream that this one goes on from; empty: none.
  explicit EventParser(std::string last_id) : last_id_(std::move(last_id)), id_(last_id_) {}

  // The events that end in this piece, in order. too_large: a line, the data of an event or an id is longer than its
  // limit. malformed: an id is no printable ASCII. Nothing is to be taken after an error.
  Result<std::vector<SentEvent>> take(ByteView piece);

  // To go on from; also an id that came without an event.
  const std::string& last_id() const { return last_id_; }

 private:
  Status end_line(std::vector<SentEvent>& events);
  Status take_id(std::string_view id);
  void end_event(std::vector<SentEvent>& events);

  std::string last_id_;
  std::string line_, id_, kind_, data_;
  bool has_data_ = false;
  bool is_first_line_ = true;
  bool after_return_ = false;  // a line ended with \r: a \n right behind it ends the same line
};

}  // namespace coterie
