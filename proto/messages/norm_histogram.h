// How many updates have their L2 norm in which bucket (norm_buckets.h): counts of batches, servers and rounds add up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace coterie {

inline constexpr size_t kNormBuckets = 64;

struct NormHistogram {
  std::array<uint64_t, kNormBuckets> counts{};
  uint64_t updates() const;
  NormHistogram& operator+=(const NormHistogram& other);
  friend bool operator==(const NormHistogram&, const NormHistogram&) = default;
};

}  // namespace coterie
