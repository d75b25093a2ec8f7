#include "tools/compare/statistics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "base/assert.h"

namespace coterie {
namespace {

constexpr double kNormalQuantile = 1.959964;  // .975

}  // namespace

double student_t(size_t degrees) {
  COT_ASSERT(degrees >= 1);
  // Any table of the distribution has these.
  constexpr double kQuantiles[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                   2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                   2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees <= std::size(kQuantiles)) return kQuantiles[degrees - 1];
  // Its expansion in 1 / degrees (Abramowitz and Stegun 26.7.5), within .0002 from 31 on.
  constexpr double z = kNormalQuantile;
  const double inverse = 1 / static_cast<double>(degrees);
  return z + (z * z * z + z) / 4 * inverse + (5 * z * z * z * z * z + 16 * z * z * z + 3 * z) / 96 * inverse * inverse;
}

MeanInterval mean_interval(std::span<const double> values) {
  COT_ASSERT(!values.empty());
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  MeanInterval interval{.mean = sum / count, .half_width = {}, .count = values.size()};
  if (values.size() == 1) return interval;
  double squares = 0;
  for (const double value : values) squares += (value - interval.mean) * (value - interval.mean);
  interval.half_width = student_t(values.size() - 1) * std::sqrt(squares / (count - 1) / count);
  return interval;
}

std::optional<double> SeenShare::value() const {
  if (of == 0) return std::nullopt;
  return static_cast<double>(count) / static_cast<double>(of);
}

ShareInterval wilson_interval(const SeenShare& share) {
  COT_ASSERT(share.count <= share.of);
  if (share.of == 0) return {};
  constexpr double squared = kNormalQuantile * kNormalQuantile;
  const auto trials = static_cast<double>(share.of);
  const double seen = *share.value(), scale = 1 / (1 + squared / trials);
  const double centre = (seen + squared / (2 * trials)) * scale;
  const double half = kNormalQuantile * scale * std::sqrt(seen * (1 - seen) / trials + squared / (4 * trials * trials));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

std::optional<MeanInterval> paired_difference(const std::map<uint64_t, double>& a,
                                              const std::map<uint64_t, double>& b) {
  std::vector<double> differences;
  for (const auto& [seed, value] : a) {
    if (const auto other = b.find(seed); other != b.end()) differences.push_back(other->second - value);
  }
  if (differences.empty()) return std::nullopt;
  return mean_interval(differences);
}

}  // namespace coterie
