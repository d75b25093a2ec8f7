// Event files as TensorBoard reads them: records of scalars, as bytes. Pure.
//
// A record is its length as a little-endian uint64, the masked CRC-32C of these 8 bytes, the event, and the masked
// CRC-32C of the event (TensorFlow, tensorflow/core/lib/io/record_writer.cc; CRC-32C: RFC 3720, appendix B.4). An event
// is a message of protocol buffers (tensorflow/core/util/event.proto, tensorflow/core/framework/summary.proto):
//
//   Event    1 wall_time: double, seconds since 1970; 2 step: int64; 3 file_version: string; 5 summary: Summary
//   Summary  1 value, any number of: 1 tag: string; 2 simple_value: float
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"

namespace coterie {

struct Scalar {
  std::string tag;  // "evaluation/loss": what is in front of the slash is a group
  float value = 0;
};

// rotr(crc, 15) + 0xa282ead8, of the CRC-32C of `bytes`.
uint32_t masked_crc32c(ByteView bytes);

// The record that a file begins with.
Bytes file_version_record(double wall_seconds);

// The record of one step.
Bytes scalars_record(double wall_seconds, uint64_t step, std::span<const Scalar> scalars);

// "events.out.tfevents.<seconds>.<host>.<process>.<number>". TensorBoard takes the middle from a name, and sorts by it.
std::string event_file_name(uint64_t wall_seconds, const std::string& host, uint64_t process, uint64_t number);

}  // namespace coterie
