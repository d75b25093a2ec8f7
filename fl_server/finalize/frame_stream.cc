#include "fl_server/finalize/frame_stream.h"

#include <string>

namespace coterie {

Result<FrameStream> FrameStream::open(BlobStore& store, const Digest& digest, FrameKind expected) {
  FrameStream stream;
  stream.digest_ = digest;
  COT_ASSIGN(stream.reader_, store.open(digest));
  Bytes prelude_bytes(kPreludeBytes);
  COT_TRY(stream.reader_->read_at(0, prelude_bytes));
  COT_ASSIGN(stream.prelude_, parse_prelude(prelude_bytes));
  // A blob that was cut short is found here, before half a sum has been made of it.
  if (stream.prelude_.kind != expected || stream.prelude_.frame_bytes() != stream.reader_->size()) {
    return Error(ErrorCode::data_loss, "blob " + digest.hex() + " is not a whole " + std::string(to_string(expected)));
  }
  stream.head_.resize(stream.prelude_.payload_offset());
  COT_TRY(stream.reader_->read_at(0, stream.head_));
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
