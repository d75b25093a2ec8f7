// A width: the share of a model's channels that a device trains (model_widths.h), in millionths.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace coterie {

inline constexpr uint32_t kWholeWidth = 1'000'000;
inline constexpr size_t kWidthsMin = 2, kWidthsMax = 8;  // that a job may have

// As a share in (0, 1], to six digits; none of other numbers. And back, as the double that is shown so.
inline std::optional<uint32_t> width_of(double share) {
  if (!(share > 0 && share <= 1)) return std::nullopt;
  const auto width = static_cast<uint32_t>(std::lround(share * kWholeWidth));
  return width > 0 ? std::optional(width) : std::nullopt;
}
inline double share_of(uint32_t width) { return width / static_cast<double>(kWholeWidth); }

}  // namespace coterie
