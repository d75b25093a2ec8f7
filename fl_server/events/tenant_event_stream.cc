#include "fl_server/events/tenant_event_stream.h"

#include <utility>

namespace coterie {
namespace {

constexpr std::string_view kNoData = "{}";

}  // namespace

TenantEventStream::TenantEventStream(EventHub& hub, EventReader reader)
    : hub_(hub),
      place_(std::move(reader.place)),
      begins_(!reader.read),
      events_(hub, std::get<OfTenant>(reader.of), reader.read ? *std::move(reader.read) : hub.newest()),
      told_seq_(events_.read().seq) {}

std::optional<std::string> TenantEventStream::next() {
  std::string text;
  if (std::exchange(begins_, false)) text = event_text(events_.read().text(), "begin", kNoData);
  const EventPieces::Piece piece = events_.next();
  has_more_ = piece.has_more;
  const EventId& read = events_.read();
  if (!piece.text.empty()) {
    told_seq_ = piece.told;
    return text + piece.text;
  }
  if (!piece.missed && read.seq - told_seq_ < kPassedOverMax) return text;
  told_seq_ = read.seq;
  if (piece.missed) return text + event_text(read.text(), "events_missed", kNoData);
  return text + "id: " + read.text() + "\n\n";  // without data it is no event: the client only keeps the id
}

}  // namespace coterie
