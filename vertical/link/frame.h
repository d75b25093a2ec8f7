// Frame: how a stage's message lies on the connection of two parties. All numbers are little-endian.
//
//   stage u16, kind u16, length u32, sequence u64, then `length` bytes
//
// The sequence counts a direction's frames from 0, over all stages: a frame that is lost, repeated or out of order is
// seen at once. TLS keeps strangers out; this keeps a party's own defects from going on unseen.
#pragma once

#include <array>
#include <cstdint>

#include "base/result.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

constexpr size_t kFrameHeaderBytes = 16;

// Which part of a job a frame belongs to, in the order in which parties go through them; alive: no part, but a frame
// that holds nothing and says that its sender is there.
enum class StageId : uint16_t { hello = 1, matching = 2, training = 3, prediction = 4, farewell = 5, alive = 6 };
std::string_view stage_name(StageId stage);

struct FrameHeader {
  StageId stage = StageId::hello;
  uint16_t kind = 0;
  uint32_t length = 0;
  uint64_t sequence = 0;
};

StageId frame_stage(const std::array<uint8_t, kFrameHeaderBytes>& bytes);  // as the header has it, unchecked

std::array<uint8_t, kFrameHeaderBytes> write_frame_header(const FrameHeader& header);

// malformed, with `reason()`, unless it is the frame that comes next: "frame_length" above kMessageBytesMax,
// "frame_sequence" for another number than `sequence`, "frame_stage" for another stage than `stage`. Nothing of the
// payload is read or allocated before.
Result<FrameHeader> read_frame_header(const std::array<uint8_t, kFrameHeaderBytes>& bytes, StageId stage,
                                      uint64_t sequence);

}  // namespace coterie::vertical
