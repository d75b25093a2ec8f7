#include "vertical/link/frame.h"

#include <string>

namespace coterie::vertical {
namespace {

template <typename T>
void put(uint8_t* to, T value) {
  for (size_t i = 0; i < sizeof value; ++i) to[i] = static_cast<uint8_t>(uint64_t{value} >> (8 * i));
}

template <typename T>
T get(const uint8_t* from) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= uint64_t{from[i]} << (8 * i);
  return static_cast<T>(value);
}

}  // namespace

std::string_view stage_name(StageId stage) {
  switch (stage) {
    case StageId::hello: return "hello";
    case StageId::matching: return "matching";
    case StageId::training: return "training";
    case StageId::prediction: return "prediction";
    case StageId::farewell: return "farewell";
    case StageId::alive: return "alive";
  }
  return "unknown";
}

StageId frame_stage(const std::array<uint8_t, kFrameHeaderBytes>& bytes) {
  return static_cast<StageId>(get<uint16_t>(&bytes[0]));
}

std::array<uint8_t, kFrameHeaderBytes> write_frame_header(const FrameHeader& header) {
  std::array<uint8_t, kFrameHeaderBytes> bytes;
  put(&bytes[0], static_cast<uint16_t>(header.stage));
  put(&bytes[2], header.kind);
  put(&bytes[4], header.length);
  put(&bytes[8], header.sequence);
  return bytes;
}

Result<FrameHeader> read_frame_header(const std::array<uint8_t, kFrameHeaderBytes>& bytes, StageId stage,
                                      uint64_t sequence) {
  const FrameHeader header{.stage = frame_stage(bytes),
                           .kind = get<uint16_t>(&bytes[2]),
                           .length = get<uint32_t>(&bytes[4]),
                           .sequence = get<uint64_t>(&bytes[8])};
  const auto wrong = [](const std::string& what, std::string_view reason) {
    return Error(ErrorCode::malformed, "link: " + what, reason);
  };
  // The length first: nothing is reserved by a number that nobody has checked.
  if (header.length > kMessageBytesMax) {
    return wrong("a frame of " + std::to_string(header.length) + " bytes came, at most " +
                     std::to_string(kMessageBytesMax) + " are allowed",
                 "frame_length");
  }
  // TLS delivers in order. A gap means that a party lost count, and its next message would be read as another one.
  if (header.sequence != sequence) {
    return wrong("frame " + std::to_string(header.sequence) + " came, expected " + std::to_string(sequence),
                 "frame_sequence");
  }
  if (header.stage != stage) {
    return wrong("a frame of stage " + std::to_string(static_cast<unsigned>(header.stage)) + " (" +
                     std::string(stage_name(header.stage)) + ") came, expected " + std::string(stage_name(stage)),
                 "frame_stage");
  }
  return header;
}

}  // namespace coterie::vertical
