// A sum over a vector's values that comes tile by tile: in several sums by place, which are added at the end. A vector
// of them is added at once, and as a value's place says which sum it is in, the bits do not depend on where tiles end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace coterie {

class SumsByPlace {
 public:
  // Adds term(i) of place first + i, for i = 0 ... count - 1. Tiles come in order.
  template <typename Term>
  void add(uint64_t first, size_t count, const Term& term) {
    size_t i = 0;
    for (; i < count && (first + i) % kParts != 0; ++i) parts_[(first + i) % kParts] += term(i);
    for (; i + kParts <= count; i += kParts) {
      for (size_t part = 0; part < kParts; ++part) parts_[part] += term(i + part);
    }
    for (; i < count; ++i) parts_[(first + i) % kParts] += term(i);
  }

  double total() const {
    double sum = 0;
    for (const double part : parts_) sum += part;
    return sum;
  }

 private:
  static constexpr size_t kParts = 8;
  std::array<double, kParts> parts_{};
};

}  // namespace coterie
