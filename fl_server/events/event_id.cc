#include "fl_server/events/event_id.h"

#include <algorithm>
#include <charconv>

namespace coterie {
namespace {

constexpr size_t kEpochDigits = 16;
constexpr size_t kTextBytesMax = kEpochDigits + 1 + 20;  // the digits of the largest uint64_t

bool is_lower_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

Result<EventId> EventId::parse(std::string_view text) {
  const Error malformed(ErrorCode::malformed,
                        "an event's id is 16 hexadecimal digits, '-' and a number, as \"id:\" of an event has it");
  if (text.size() > kTextBytesMax || text.size() < kEpochDigits + 2 || text[kEpochDigits] != '-') return malformed;
  EventId id{.epoch = std::string(text.substr(0, kEpochDigits)), .seq = 0};
  if (!std::ranges::all_of(id.epoch, is_lower_hex)) return malformed;
  const std::string_view digits = text.substr(kEpochDigits + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id.seq);
  if (error != std::errc() || end != digits.data() + digits.size()) return malformed;
  return id;
}

}  // namespace coterie
