// A frame that lies in a blob: its head in memory, its payload read tile by tile, its digest checked at the end.
#pragma once

#include <memory>

#include "fl_server/store/blob_store.h"
#include "proto/codec/frame.h"
#include "secure/crypto/digest.h"

namespace coterie {

class FrameStream {
 public:
  // Opens the blob and reads everything before the payload. `expected` is the frame's kind.
  static Result<FrameStream> open(BlobStore& store, const Digest& digest, FrameKind expected);

  const Prelude& prelude() const { return prelude_; }
  // Prelude, header, padding: a new frame of the same kind and header begins with the same bytes.
  const Bytes& head() const { return head_; }
  ByteView header() const { return ByteView(head_).subspan(kPreludeBytes, prelude_.header_bytes); }

  // Bytes of the payload before their turn; read() gives them again, to the digest too.
  Status peek(uint64_t payload_offset, std::span<uint8_t> into) const;
  // The next into.size() bytes of the payload.
  Status read(std::span<uint8_t> into);
  // After the last byte: data_loss unless the whole blob has the digest it is named by.
  Status verify();

 private:
  std::shared_ptr<const BlobReader> reader_;
  Digest digest_;
  Prelude prelude_{};
  Bytes head_;
  uint64_t position_ = 0;
  ContentDigester digester_;
};

}  // namespace coterie
