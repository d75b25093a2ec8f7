// A buffer between guards, which a delegate fills instead of the program's: what it writes beside it is seen.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace coterie {

class GuardedBuffer {
 public:
  explicit GuardedBuffer(uint64_t count) : values_(count + 2 * kGuardFloats, guard()) {}

  float* data() { return values_.data() + kGuardFloats; }
  std::span<const float> view() const { return std::span(values_).subspan(kGuardFloats, size()); }
  bool has_guards() const {
    const auto is_guard = [](float value) { return std::bit_cast<uint32_t>(value) == kGuardBits; };
    const std::span<const float> all(values_);
    return std::ranges::all_of(all.first(kGuardFloats), is_guard) &&
           std::ranges::all_of(all.last(kGuardFloats), is_guard);
  }

 private:
  static constexpr size_t kGuardFloats = 64;
  static constexpr uint32_t kGuardBits = 0x7fc0c07e;  // a NaN that nobody computes: what is not written is seen, too

  static float guard() { return std::bit_cast<float>(kGuardBits); }
  size_t size() const { return values_.size() - 2 * kGuardFloats; }

  std::vector<float> values_;
};

}  // namespace coterie
