#include "fl_server/finalize/frame_head.h"

namespace coterie {

Result<FrameHead> read_frame_head(const BlobReader& blob, FrameKind expected, const std::string& what) {
  FrameHead head;
  Bytes prelude_bytes(kPreludeBytes);
  COT_TRY(blob.read_at(0, prelude_bytes));
  COT_ASSIGN(head.prelude, parse_prelude(prelude_bytes));
  // A blob that was cut short is found here, before half a sum has been made of it.
  if (head.prelude.kind != expected || head.prelude.frame_bytes() != blob.size()) {
    return Error(ErrorCode::data_loss, what + " is not a whole " + std::string(to_string(expected)));
  }
  head.bytes.resize(head.prelude.payload_offset());
  COT_TRY(blob.read_at(0, head.bytes));
  return head;
}

}  // namespace coterie
