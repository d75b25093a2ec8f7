// LoraSettings: which weights get low-rank companions, of what rank (Hu et al. 2021, arXiv:2106.09685).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace coterie {

inline constexpr uint32_t kLoraRankMax = 4'096;
inline constexpr size_t kLoraPatternBytesMax = 256;  // at least 1

//   y = x w + bias + (x A) B * alpha / rank      A[in, rank], B[rank, out]; B is 0 at first
struct LoraSettings {
  uint32_t rank = 8;
  float alpha = 8;
  std::string pattern = "*";  // of the weights' names (base/text/name_pattern.h)
  // A is drawn of it and stays as it is, so that B alone is trained (FFA-LoRA, Sun et al. 2024, arXiv:2403.12313): what
  // the weights change by is linear in B. None: both are trained.
  std::optional<uint64_t> fixed_a_seed = {};
  float scale() const { return alpha / static_cast<float>(rank); }
  friend bool operator==(const LoraSettings&, const LoraSettings&) = default;
};

}  // namespace coterie
