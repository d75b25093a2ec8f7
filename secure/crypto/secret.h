// Secret<N>: key bytes in locked memory that are wiped when they go, cannot be copied by accident and have no printer.
//
// The object is a pointer to a slot of locked_memory.h, which says what locking is worth and when it fails: a key stays
// where it is while its Secret is moved about, so that no stack and no vector that grows keeps a piece of it. Taking a
// slot costs some 20 ns. What a library computes from a key (round keys, HMAC states) lives in that library's memory
// for the time of a call.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "secure/crypto/locked_memory.h"

namespace coterie {

// Overwrites in a way the optimiser keeps.
void wipe(std::span<uint8_t> bytes);

// Whether a and b are equal, in time that depends on their size only.
bool equal_in_constant_time(ByteView a, ByteView b);

template <size_t kBytes>
class Secret {
 public:
  static_assert(kBytes > 0 && kBytes <= kLockedSlotBytesMax);
  static constexpr size_t kSize = kBytes;

  // All zeros, as is one that was moved from; neither holds memory.
  Secret() = default;
  explicit Secret(std::span<const uint8_t, kBytes> bytes) { std::ranges::copy(bytes, mutable_bytes().begin()); }
  ~Secret() {
    if (slot_ != nullptr) give_back_locked(slot_, kBytes);
  }
  Secret(Secret&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  Secret& operator=(Secret&& other) noexcept {
    Secret taken(std::move(other));
    std::swap(slot_, taken.slot_);
    return *this;
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;

  // For the crypto wrappers and for writing a key file; never for logs.
  std::span<const uint8_t, kBytes> reveal() const {
    return std::span<const uint8_t, kBytes>(slot_ != nullptr ? slot_ : kZeros.data(), kBytes);
  }
  std::span<uint8_t, kBytes> mutable_bytes() {
    if (slot_ == nullptr) slot_ = take_locked(kBytes);
    return std::span<uint8_t, kBytes>(slot_, kBytes);
  }

 private:
  static constexpr std::array<uint8_t, kBytes> kZeros{};

  uint8_t* slot_ = nullptr;
};

}  // namespace coterie
