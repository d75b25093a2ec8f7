#include "vertical/coordinator/dealt_frames.h"

#include "base/assert.h"
#include "secure/crypto/secret.h"
#include "vertical/link/frame.h"

namespace coterie::vertical {

ByteView DealtFrames::waiting() {
  // One frame at a time: a dealing is larger than memory, and a slow party holds back its own alone.
  if (gone_ == frame_.size() && !is_over_) {
    const std::optional<Message> message = std::visit([](auto& dealing) { return dealing.next(); }, dealing_);
    is_over_ = !message;
    // What is dealt opens what the parties say to each other masked.
    wipe(frame_);
    frame_.clear();
    gone_ = 0;
    if (message) {
      const auto header = write_frame_header({.stage = StageId::training,
                                              .kind = message->kind,
                                              .length = static_cast<uint32_t>(message->payload.size()),
                                              .sequence = sequence_++});
      frame_.insert(frame_.end(), header.begin(), header.end());
      frame_.insert(frame_.end(), message->payload.begin(), message->payload.end());
    }
  }
  return ByteView(frame_).subspan(gone_);
}

void DealtFrames::sent(size_t bytes) {
  COT_ASSERT(bytes <= frame_.size() - gone_);
  gone_ += bytes;
}

}  // namespace coterie::vertical
