// How many updates of a round have their cosine with the round's step in which bucket (cosine_buckets.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace coterie {

inline constexpr size_t kCosineBuckets = 40;

struct CosineHistogram {
  std::array<uint64_t, kCosineBuckets> counts{};
  uint64_t undirected = 0;  // updates without a cosine: they are zero, or the step is
  uint64_t directed() const;
  uint64_t updates() const { return directed() + undirected; }
  friend bool operator==(const CosineHistogram&, const CosineHistogram&) = default;
};

}  // namespace coterie
