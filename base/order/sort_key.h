// Sorting by numbers: whatever is sorted, its keys are, by one function. Each type that std::sort gets is 1.5 KiB of
// code.
#pragma once

#include <compare>
#include <cstdint>
#include <span>

namespace coterie {

// By major, then minor, then index, which keeps an order among equals.
struct SortKey {
  uint64_t major = 0, minor = 0;
  uint32_t index = 0;  // of what is sorted
  friend auto operator<=>(const SortKey&, const SortKey&) = default;
};

void sort(std::span<SortKey> keys);

}  // namespace coterie
