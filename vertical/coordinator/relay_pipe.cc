#include "vertical/coordinator/relay_pipe.h"

#include <algorithm>

#include "base/assert.h"

namespace coterie::vertical {

std::span<uint8_t> RelayPipe::room() {
  if (ended_ || used_ == ring_.size()) return {};
  const size_t begin = (first_ + used_) % ring_.size();
  const size_t end = begin < first_ ? first_ : ring_.size();
  return std::span(ring_).subspan(begin, end - begin);
}

void RelayPipe::filled(size_t bytes) {
  COT_ASSERT(bytes <= room().size());
  total_ += bytes;
  if (!discards_) used_ += bytes;
}

ByteView RelayPipe::waiting() const { return ByteView(ring_).subspan(first_, std::min(used_, ring_.size() - first_)); }

void RelayPipe::sent(size_t bytes) {
  COT_ASSERT(bytes <= waiting().size());
  used_ -= bytes;
  // An empty ring begins at its front again: the next read has all of it in one piece.
  first_ = used_ == 0 ? 0 : (first_ + bytes) % ring_.size();
}

void RelayPipe::discard() {
  discards_ = true;
  first_ = used_ = 0;
}

}  // namespace coterie::vertical
