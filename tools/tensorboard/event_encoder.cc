#include "tools/tensorboard/event_encoder.h"

#include <bit>
#include <string_view>

#include "base/checksum/crc32c.h"

namespace coterie {
namespace {

enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

template <typename Unsigned>
void append_little_endian(Bytes& to, Unsigned value) {
  for (size_t i = 0; i < sizeof value; ++i) to.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

void append_varint(Bytes& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<uint8_t>(value | 0x80));
  to.push_back(static_cast<uint8_t>(value));
}

void append_key(Bytes& to, uint32_t field, WireType type) {
  append_varint(to, uint64_t{field} << 3 | static_cast<uint8_t>(type));
}

void append_field(Bytes& to, uint32_t field, ByteView content) {
  append_key(to, field, WireType::bytes);
  append_varint(to, content.size());
  to.insert(to.end(), content.begin(), content.end());
}

Bytes event_at(double wall_seconds) {
  Bytes event;
  append_key(event, 1, WireType::fixed64);
  append_little_endian(event, std::bit_cast<uint64_t>(wall_seconds));
  return event;
}

Bytes record_of(const Bytes& event) {
  Bytes record;
  append_little_endian(record, uint64_t{event.size()});
  append_little_endian(record, masked_crc32c(record));
  record.insert(record.end(), event.begin(), event.end());
  append_little_endian(record, masked_crc32c(event));
  return record;
}

}  // namespace

uint32_t masked_crc32c(ByteView bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8u; }

Bytes file_version_record(double wall_seconds) {
  Bytes event = event_at(wall_seconds);
  append_field(event, 3, as_bytes("brain.Event:2"));
  return record_of(event);
}

Bytes scalars_record(double wall_seconds, uint64_t step, std::span<const Scalar> scalars) {
  Bytes summary;
  for (const Scalar& scalar : scalars) {
    Bytes value;
    append_field(value, 1, as_bytes(scalar.tag));
    append_key(value, 2, WireType::fixed32);
    append_little_endian(value, std::bit_cast<uint32_t>(scalar.value));
    append_field(summary, 1, value);
  }
  Bytes event = event_at(wall_seconds);
  append_key(event, 2, WireType::varint);
  append_varint(event, step);
  append_field(event, 5, summary);
  return record_of(event);
}

std::string event_file_name(uint64_t wall_seconds, const std::string& host, uint64_t process, uint64_t number) {
  std::string plain;
  for (const char c : host) plain += c == '/' || static_cast<unsigned char>(c) <= ' ' ? '_' : c;
  return "events.out.tfevents." + std::to_string(wall_seconds) + "." + plain + "." + std::to_string(process) + "." +
         std::to_string(number);
}

}  // namespace coterie
