// MatchingFrames: the matcher of a job's parties as the bytes of their connections. They come in, in any pieces, and
// the bytes for each party go out. Pure: the shell reads and writes. blind_matcher.h says what is compared.
#pragma once

#include <array>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/link/frame.h"
#include "vertical/psi/blind_matcher.h"

namespace coterie::vertical {

class MatchingFrames {
 public:
  // `parties` and `entries_max` as those of BlindMatcher. `unread_bytes_max`: what a party may leave unread of what it
  // is told, and still say more.
  MatchingFrames(uint32_t parties, uint64_t entries_max, size_t unread_bytes_max = kMessageBytesMax);

  // BlindMatcher's errors, and read_frame_header()'s: the matching is over, for all.
  Status take(PartyIndex from, ByteView bytes);
  // What came is compared and answered in steps, so that others have their turn in between: whether there is one to do.
  bool has_work() const { return matcher_.is_telling() || matcher_.is_comparing(); }
  // A step: some tags are compared, or one message is written. Errors likewise. Precondition: has_work().
  Status work();
  // What goes next to this party; empty: nothing for now.
  ByteView waiting(PartyIndex to) const;
  void sent(PartyIndex to, size_t bytes);  // of waiting()
  // Whether this party may say more. Without a bound what it does not read would be kept for it without end.
  bool may_say(PartyIndex from) const { return waiting(from).size() <= unread_bytes_max_; }
  // All is compared, and told.
  bool is_over() const;

 private:
  struct Side {
    std::array<uint8_t, kFrameHeaderBytes> header{};
    size_t header_bytes = 0;
    Message message;                  // whose header is here
    size_t payload_bytes = 0;         // of it
    uint64_t received = 0, sent = 0;  // frames
    Bytes out;
    size_t gone = 0;  // of `out`
  };
  Status take_message(PartyIndex from, Side& side);

  BlindMatcher matcher_;
  size_t unread_bytes_max_;
  std::vector<Side> sides_;
};

}  // namespace coterie::vertical
