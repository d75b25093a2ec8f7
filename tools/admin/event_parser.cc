#include "tools/admin/event_parser.h"

#include <algorithm>
#include <utility>

namespace coterie {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kNameless = "message";

Error too_long(const char* what) {
  return Error(ErrorCode::too_large, "the server's stream of events has " + std::string(what) + " that is too long");
}

}  // namespace

Result<std::vector<SentEvent>> EventParser::take(ByteView piece) {
  std::vector<SentEvent> events;
  std::string_view text = as_text(piece);
  while (!text.empty()) {
    if (std::exchange(after_return_, false) && text.front() == '\n') {
      text.remove_prefix(1);
      continue;
    }
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    if (line_.size() + end > kEventLineBytesMax) return too_long("a line");
    line_.append(text.substr(0, end));
    text.remove_prefix(end);
    if (text.empty()) break;
    after_return_ = text.front() == '\r';
    text.remove_prefix(1);
    COT_TRY(end_line(events));
  }
  return events;
}

Status EventParser::end_line(std::vector<SentEvent>& events) {
  const std::string whole = std::exchange(line_, {});
  std::string_view line = whole;
  if (std::exchange(is_first_line_, false) && line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  if (line.empty()) {
    end_event(events);
    return {};
  }
  const size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);  // empty: a comment
  std::string_view value = colon == line.npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "id") return take_id(value);
  if (field == "event") kind_ = value;
  if (field != "data") return {};
  if (data_.size() + value.size() + 1 > kEventDataBytesMax) return too_long("an event");
  if (std::exchange(has_data_, true)) data_ += '\n';
  data_ += value;
  return {};
}

// It comes back to the server as a header: nothing but what may stand there is taken.
Status EventParser::take_id(std::string_view id) {
  if (id.size() > kEventIdBytesMax) return too_long("an id");
  if (!std::ranges::all_of(id, [](char c) { return c >= ' ' && c <= '~'; })) {
    return Error(ErrorCode::malformed, "the server's stream of events has an id that is no printable ASCII");
  }
  id_ = id;
  return {};
}

void EventParser::end_event(std::vector<SentEvent>& events) {
  last_id_ = id_;
  std::string kind = std::exchange(kind_, {});
  std::string data = std::exchange(data_, {});
  if (!std::exchange(has_data_, false)) return;
  if (kind.empty()) kind = kNameless;
  events.push_back({.id = last_id_, .kind = std::move(kind), .data = std::move(data)});
}

}  // namespace coterie
