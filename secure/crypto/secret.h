// Secret<N>: key bytes that are wiped when they go, cannot be copied by accident and have no printer.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"

namespace coterie {

// Overwrites in a way the optimiser keeps.
void wipe(std::span<uint8_t> bytes);

// Whether a and b are equal, in time that depends on their size only.
bool equal_in_constant_time(ByteView a, ByteView b);

template <size_t kBytes>
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::span<const uint8_t, kBytes> bytes) { std::copy(bytes.begin(), bytes.end(), bytes_.begin()); }
  ~Secret() { wipe(bytes_); }
  Secret(Secret&& other) noexcept : bytes_(other.bytes_) { wipe(other.bytes_); }
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      bytes_ = other.bytes_;
      wipe(other.bytes_);
    }
    return *this;
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;

  // For the crypto wrappers and for writing a key file; never for logs.
  std::span<const uint8_t, kBytes> reveal() const { return bytes_; }
  std::span<uint8_t, kBytes> mutable_bytes() { return bytes_; }

 private:
  std::array<uint8_t, kBytes> bytes_{};
};

}  // namespace coterie
