#include "vertical/coordinator/matching_frames.h"

#include <algorithm>

#include "base/assert.h"

namespace coterie::vertical {

MatchingFrames::MatchingFrames(uint32_t parties, uint64_t entries_max, size_t unread_bytes_max)
    : matcher_(parties, entries_max), unread_bytes_max_(unread_bytes_max), sides_(parties) {}

Status MatchingFrames::take(PartyIndex from, ByteView bytes) {
  Side& side = sides_[from];
  while (!bytes.empty()) {
    if (side.header_bytes < kFrameHeaderBytes) {
      const size_t count = std::min(bytes.size(), kFrameHeaderBytes - side.header_bytes);
      std::ranges::copy(bytes.first(count), side.header.begin() + static_cast<std::ptrdiff_t>(side.header_bytes));
      side.header_bytes += count;
      bytes = bytes.subspan(count);
      if (side.header_bytes < kFrameHeaderBytes) return {};
      COT_ASSIGN(const FrameHeader header, read_frame_header(side.header, StageId::matching, side.received));
      ++side.received;
      side.message = {.peer = from, .kind = header.kind, .payload = Bytes(header.length)};
      side.payload_bytes = 0;
    }
    Bytes& payload = side.message.payload;
    const size_t count = std::min(bytes.size(), payload.size() - side.payload_bytes);
    std::ranges::copy(bytes.first(count), payload.begin() + static_cast<std::ptrdiff_t>(side.payload_bytes));
    side.payload_bytes += count;
    bytes = bytes.subspan(count);
    if (side.payload_bytes == payload.size()) COT_TRY(take_message(from, side));
  }
  return {};
}

Status MatchingFrames::take_message(PartyIndex from, Side& side) {
  side.header_bytes = 0;
  if (Status status = matcher_.receive(side.message); !status) {
    return status.error().with_context("party " + std::to_string(from));
  }
  side.message.payload = {};
  return {};
}

Status MatchingFrames::work() {
  const std::optional<Message> message = matcher_.next();
  if (!message) return matcher_.compare();
  Side& to = sides_[message->peer];
  // What has gone makes room.
  to.out.erase(to.out.begin(), to.out.begin() + static_cast<std::ptrdiff_t>(to.gone));
  to.gone = 0;
  const auto header = write_frame_header({.stage = StageId::matching,
                                          .kind = message->kind,
                                          .length = static_cast<uint32_t>(message->payload.size()),
                                          .sequence = to.sent++});
  to.out.insert(to.out.end(), header.begin(), header.end());
  to.out.insert(to.out.end(), message->payload.begin(), message->payload.end());
  return {};
}

ByteView MatchingFrames::waiting(PartyIndex to) const { return ByteView(sides_[to].out).subspan(sides_[to].gone); }

void MatchingFrames::sent(PartyIndex to, size_t bytes) {
  COT_ASSERT(bytes <= waiting(to).size());
  sides_[to].gone += bytes;
}

bool MatchingFrames::is_over() const {
  return matcher_.done() && std::ranges::all_of(sides_, [](const Side& side) { return side.gone == side.out.size(); });
}

}  // namespace coterie::vertical
