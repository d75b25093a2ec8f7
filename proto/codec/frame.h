// Frame: the one container of everything Coterie sends or stores.
//
//   offset 0   4 bytes   "COTF"
//          4   u16       format version, 1
//          6   u16       FrameKind
//          8   u32       header_bytes: a FlatBuffer (the table that belongs to the kind)
//         12   u32       reserved, 0
//         16   u64       payload_bytes: raw little-endian tensors; 0 for a message that has none
//         24   header, then zeros to the next multiple of 64, then the payload
//
// All integers little-endian. The sizes are exact: a frame with a byte more or less is malformed. The header's size is
// checked against its kind's limit before the FlatBuffers verifier sees it, and the verifier never walks the payload.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

enum class FrameKind : uint16_t {
  enroll_request = 1,
  enroll_reply = 2,
  checkin_request = 3,
  retry_window = 4,
  assignment = 5,
  plan = 6,
  update = 7,
  receipt = 8,
  error_reply = 9,
  key_advert = 10,  // secure aggregation (proto/messages/secagg.h)
  roster_slot = 11,
  holder_choice = 12,
  roster_view = 13,
  sealed_shares = 14,
  share_inbox = 15,
  masked_input = 16,
  confirm_request = 17,
  confirmation = 18,
  unmask_request = 19,
  unmasking = 20,
  log_proof = 21,
  model = 100,
  checkpoint = 101,
  partial_sum = 102,
  optimizer_state = 103,
  dataset = 104,
  participant_state = 105,
  model_delta = 106,
};
std::string_view to_string(FrameKind kind);

inline constexpr size_t kPreludeBytes = 24;
inline constexpr uint16_t kFrameVersion = 1;

// The first 24 bytes, checked: known magic, version and kind, sizes within limits.
struct Prelude {
  FrameKind kind;
  uint32_t header_bytes;
  uint64_t payload_bytes;

  uint64_t payload_offset() const;  // from the start of the frame
  uint64_t frame_bytes() const { return payload_offset() + payload_bytes; }
};
Result<Prelude> parse_prelude(ByteView bytes);

// A whole frame in memory. The views point into the bytes that were parsed.
struct Frame {
  FrameKind kind;
  ByteView header;
  ByteView payload;
};
Result<Frame> parse_frame(ByteView bytes);
Result<Frame> parse_frame(ByteView bytes, FrameKind expected);

// Prelude, header and padding: what precedes `payload_bytes` of payload that the caller writes itself.
Bytes build_frame_head(FrameKind kind, ByteView header, uint64_t payload_bytes);
Bytes build_frame(FrameKind kind, ByteView header, ByteView payload = {});

}  // namespace coterie
