// Numbers in what vertical jobs say and keep, little-endian. A reader past its end gives zeros, and is not ok().
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie::vertical {

class WireWriter {
 public:
  void u8(uint8_t value) { bytes_.push_back(value); }
  void u16(uint16_t value) { append(value, 2); }
  void u32(uint32_t value) { append(value, 4); }
  void u64(uint64_t value) { append(value, 8); }
  void f32(float value) { u32(std::bit_cast<uint32_t>(value)); }
  void f64(double value) { u64(std::bit_cast<uint64_t>(value)); }
  void raw(ByteView bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void digest(const Digest& digest) { raw(digest.view()); }
  void reserve(size_t bytes) { bytes_.reserve(bytes); }
  Bytes take() { return std::move(bytes_); }

 private:
  void append(uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }

  Bytes bytes_;
};

class WireReader {
 public:
  explicit WireReader(ByteView bytes) : rest_(bytes) {}

  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  float f32() { return std::bit_cast<float>(u32()); }
  double f64() { return std::bit_cast<double>(u64()); }
  ByteView raw(size_t count) { return take(count) ? taken_ : ByteView{}; }
  Digest digest() {
    Digest digest;
    std::ranges::copy(raw(digest.bytes.size()), digest.bytes.begin());
    return digest;
  }
  ByteView rest() const { return rest_; }
  bool ok() const { return ok_; }
  bool ended() const { return ok_ && rest_.empty(); }

 private:
  uint64_t number(size_t count) {
    uint64_t value = 0;
    if (take(count)) {
      for (size_t i = 0; i < count; ++i) value |= uint64_t{taken_[i]} << (8 * i);
    }
    return value;
  }

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
