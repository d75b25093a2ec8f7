#include "proto/codec/flat.h"

#include <algorithm>

#include "base/text/concat.h"

namespace coterie::flat {

Error out_of_range(std::string_view field, std::string_view rule) {
  return Error(ErrorCode::malformed, concat({field, " ", rule}));
}

Result<std::string> text(const flatbuffers::String* field, std::string_view name, size_t bytes_max, size_t bytes_min) {
  const size_t size = field == nullptr ? 0 : field->size();
  if (size < bytes_min || size > bytes_max) {
    return out_of_range(name, concat({"must have ", bytes_min, " to ", bytes_max, " bytes, has ", size}));
  }
  return field == nullptr ? std::string() : field->str();
}

Result<Bytes> bytes(const flatbuffers::Vector<uint8_t>* field, std::string_view name, size_t bytes_max,
                    size_t bytes_min) {
  const size_t size = field == nullptr ? 0 : field->size();
  if (size < bytes_min || size > bytes_max) {
    return out_of_range(name, concat({"must have ", bytes_min, " to ", bytes_max, " bytes, has ", size}));
  }
  return size == 0 ? Bytes() : Bytes(field->begin(), field->end());
}

Result<WallTime> wall_time(int64_t unix_ms, std::string_view name) {
  if (unix_ms < 0 || unix_ms > limits::kUnixMsMax) return out_of_range(name, "must be between 1970 and 9999");
  return wall_time_from_unix_ms(unix_ms);
}

Result<KeyAlgorithm> key_algorithm(uint8_t value) {
  if (value == static_cast<uint8_t>(KeyAlgorithm::ed25519)) return KeyAlgorithm::ed25519;
  if (value == static_cast<uint8_t>(KeyAlgorithm::p256)) return KeyAlgorithm::p256;
  return out_of_range("key_algorithm", "must be 1 (ed25519) or 2 (p256)");
}

Digest digest(const wire::Digest32& field) {
  Digest value;
  std::copy(field.bytes()->begin(), field.bytes()->end(), value.bytes.begin());
  return value;
}

wire::Digest32 digest(const Digest& value) {
  return wire::Digest32(flatbuffers::span<const uint8_t, 32>(value.bytes.data(), 32));
}

DeviceId device(const wire::DeviceKeyHash& field) {
  DeviceId value;
  std::copy(field.bytes()->begin(), field.bytes()->end(), value.bytes.begin());
  return value;
}

wire::DeviceKeyHash device(const DeviceId& value) {
  return wire::DeviceKeyHash(flatbuffers::span<const uint8_t, 16>(value.bytes.data(), 16));
}

Status payload_is(const Prelude& prelude, std::optional<uint64_t> expected) {
  if (!expected || prelude.payload_bytes != *expected) {
    return out_of_range("payload",
                        concat({"has ", prelude.payload_bytes, " bytes, which is not what the header promises"}));
  }
  return {};
}

Prelude prelude_of(const Frame& frame) {
  return {frame.kind, static_cast<uint32_t>(frame.header.size()), frame.payload.size()};
}

Bytes finish(flatbuffers::FlatBufferBuilder& builder, FrameKind kind) { return finish_head(builder, kind, 0); }

Bytes finish_head(flatbuffers::FlatBufferBuilder& builder, FrameKind kind, uint64_t payload_bytes) {
  return build_frame_head(kind, ByteView(builder.GetBufferPointer(), builder.GetSize()), payload_bytes);
}

flatbuffers::Offset<flatbuffers::Vector<uint8_t>> vector(flatbuffers::FlatBufferBuilder& builder, ByteView bytes) {
  return builder.CreateVector(bytes.data(), bytes.size());
}

}  // namespace coterie::flat
