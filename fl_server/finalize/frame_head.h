// What precedes the payload of a frame that lies in a blob.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "fl_server/store/blob_store.h"
#include "proto/codec/frame.h"

namespace coterie {

struct FrameHead {
  Prelude prelude{};
  Bytes bytes;  // prelude, header, padding
  ByteView header() const { return ByteView(bytes).subspan(kPreludeBytes, prelude.header_bytes); }
};

// Errors: those of the reader and of parse_prelude; data_loss, which names `what` the blob is, where it is of another
// kind, or longer or shorter than its prelude says.
Result<FrameHead> read_frame_head(const BlobReader& blob, FrameKind expected, const std::string& what);

}  // namespace coterie
