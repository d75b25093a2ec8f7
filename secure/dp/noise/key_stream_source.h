// A key stream as ByteSource: what privacy needs. The stream serves this purpose alone (derive its key for it).
#pragma once

#include <utility>

#include "secure/crypto/stream_cipher.h"
#include "secure/dp/noise/byte_source.h"

namespace coterie {

class KeyStreamSource final : public ByteSource {
 public:
  explicit KeyStreamSource(KeyStream stream) : stream_(std::move(stream)) {}

  void write(uint64_t byte_offset, std::span<uint8_t> out) const override { stream_.write(byte_offset, out); }

 private:
  KeyStream stream_;
};

}  // namespace coterie
