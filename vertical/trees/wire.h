// Numbers in the payloads of tree messages, little-endian. A reader past its end gives zeros and is not ok() any more.
#pragma once

#include <bit>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie::vertical {

class WireWriter {
 public:
  void u8(uint8_t value) { bytes_.push_back(value); }
  void u32(uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) bytes_.push_back(static_cast<uint8_t>(value >> shift));
  }
  void f32(float value) { u32(std::bit_cast<uint32_t>(value)); }
  void f64(double value) {
    const auto bits = std::bit_cast<uint64_t>(value);
    u32(static_cast<uint32_t>(bits));
    u32(static_cast<uint32_t>(bits >> 32));
  }
  void raw(ByteView bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

class WireReader {
 public:
  explicit WireReader(ByteView bytes) : rest_(bytes) {}

  uint8_t u8() { return take(1) ? taken_[0] : uint8_t{0}; }
  uint32_t u32() {
    uint32_t value = 0;
    if (take(4)) {
      for (size_t i = 0; i < 4; ++i) value |= uint32_t{taken_[i]} << (8 * i);
    }
    return value;
  }
  float f32() { return std::bit_cast<float>(u32()); }
  double f64() {
    const uint64_t low = u32();
    return std::bit_cast<double>(low | (uint64_t{u32()} << 32));
  }
  ByteView raw(size_t count) { return take(count) ? taken_ : ByteView{}; }
  ByteView rest() const { return rest_; }
  bool ok() const { return ok_; }
  bool ended() const { return ok_ && rest_.empty(); }

 private:
  bool take(size_t count) {
    ok_ = ok_ && count <= rest_.size();
    if (!ok_) return false;
    taken_ = rest_.first(count);
    rest_ = rest_.subspan(count);
    return true;
  }

  ByteView rest_;
  ByteView taken_;
  bool ok_ = true;
};

}  // namespace coterie::vertical
