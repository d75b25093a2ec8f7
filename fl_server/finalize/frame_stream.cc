#include "fl_server/finalize/frame_stream.h"

#include <string>
#include <utility>

#include "fl_server/finalize/frame_head.h"

namespace coterie {

Result<FrameStream> FrameStream::open(BlobStore& store, const Digest& digest, FrameKind expected) {
  FrameStream stream;
  stream.digest_ = digest;
  COT_ASSIGN(stream.reader_, store.open(digest));
  COT_ASSIGN(FrameHead head, read_frame_head(*stream.reader_, expected, "blob " + digest.hex()));
  stream.prelude_ = head.prelude;
  stream.head_ = std::move(head.bytes);
  stream.position_ = stream.head_.size();
  stream.digester_.update(stream.head_);
  return stream;
}

Status FrameStream::peek(uint64_t payload_offset, std::span<uint8_t> into) const {
  return reader_->read_at(head_.size() + payload_offset, into);
}

// Digested on the way, as reading a blob twice costs as much as summing it. So what is made of these bytes may not be
// used before verify().
Status FrameStream::read(std::span<uint8_t> into) {
  COT_TRY(reader_->read_at(position_, into));
  position_ += into.size();
  digester_.update(into);
  return {};
}

Status FrameStream::verify() {
  COT_ASSERT(position_ == reader_->size());
  if (digester_.finish() != digest_) {
    return Error(ErrorCode::data_loss, "blob " + digest_.hex() + " does not have the digest it is named by");
  }
  return {};
}

}  // namespace coterie
