// CounterSource: bytes by position out of SplitMix64 and a seed. For tests: fast, and nobody's secret.
#pragma once

#include "secure/dp/noise/byte_source.h"

namespace coterie::test {

class CounterSource final : public ByteSource {
 public:
  explicit CounterSource(uint64_t seed) : seed_(seed) {}
  void write(uint64_t byte_offset, std::span<uint8_t> out) const override;

 private:
  uint64_t seed_;
};

}  // namespace coterie::test
