#include "fl_server/events/event_pieces.h"

#include "fl_server/net/event_source.h"

namespace coterie {

EventPieces::Piece EventPieces::next() {
  const EventPage page = hub_.after(read_, filter_, kEventsPerPiece);
  Piece piece{.text = {}, .told = 0, .missed = page.missed, .has_more = page.events.size() == kEventsPerPiece};
  if (page.missed) read_.epoch = hub_.epoch();
  for (const auto& event : page.events) {
    read_.seq = piece.told = event->seq;
    piece.text += event_text(read_.text(), event::kind(event->what), event->json);
  }
  // Behind those that the filter passed over, too: they need not be looked at again.
  read_.seq = page.seq;
  return piece;
}

}  // namespace coterie
