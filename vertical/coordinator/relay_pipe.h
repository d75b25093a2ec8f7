// RelayPipe: one direction between two parties, bounded. Whoever fills it reads from its party only while there is
// room: that is all the back-pressure there is, and TCP carries it to the sender.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace coterie::vertical {

class RelayPipe {
 public:
  // All the memory that this direction will ever have.
  explicit RelayPipe(size_t bytes_max) : ring_(bytes_max) {}

  // Where the next bytes go: empty if there is no room, or if the source has ended.
  std::span<uint8_t> room();
  void filled(size_t bytes);  // of room()

  // The next bytes to send, in order.
  ByteView waiting() const;
  void sent(size_t bytes);  // of waiting()

  void end() { ended_ = true; }  // nothing more comes of the source
  void discard();                // nobody takes what is here or comes

  bool has_ended() const { return ended_; }
  bool is_drained() const { return ended_ && used_ == 0; }
  uint64_t total() const { return total_; }  // that came

 private:
  Bytes ring_;
  size_t first_ = 0, used_ = 0;
  uint64_t total_ = 0;
  bool ended_ = false, discards_ = false;
};

}  // namespace coterie::vertical
