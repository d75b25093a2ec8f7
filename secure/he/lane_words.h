// LaneWords: words for the instructions of lane_kernel.h, aligned to 64 bytes, zeroed at first and wiped at the end.
// Private to secure/he.
#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include "secure/crypto/secret.h"

namespace coterie::he {

class LaneWords {
 public:
  LaneWords() = default;
  explicit LaneWords(size_t count)
      : words_(static_cast<uint64_t*>(::operator new(8 * count, kAlignment))), count_(count) {
    for (size_t i = 0; i < count; ++i) words_[i] = 0;
  }
  ~LaneWords() {
    if (words_ == nullptr) return;
    wipe({reinterpret_cast<uint8_t*>(words_), 8 * count_});
    ::operator delete(words_, kAlignment);
  }
  LaneWords(LaneWords&& other) noexcept
      : words_(std::exchange(other.words_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  LaneWords& operator=(LaneWords&& other) noexcept {
    std::swap(words_, other.words_);
    std::swap(count_, other.count_);
    return *this;
  }

  bool empty() const { return count_ == 0; }
  uint64_t* data() { return words_; }
  const uint64_t* data() const { return words_; }
  std::span<uint64_t> span() { return {words_, count_}; }
  std::span<const uint64_t> span() const { return {words_, count_}; }

 private:
  static constexpr std::align_val_t kAlignment{64};

  uint64_t* words_ = nullptr;
  size_t count_ = 0;
};

}  // namespace coterie::he
