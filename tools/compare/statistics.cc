#include "tools/compare/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/assert.h"
#include "base/statistics/student_t.h"

namespace coterie {
namespace {

constexpr double kNormalQuantile = 1.959964;  // .975

}  // namespace

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

ShareInterval difference_interval(const SeenShare& a, const SeenShare& b) {
  if (a.of == 0 || b.of == 0) return {-1, 1};
  const double p = *a.value(), q = *b.value();
  const ShareInterval of_a = wilson_interval(a), of_b = wilson_interval(b);
  return {p - q - std::hypot(p - of_a.low, of_b.high - q), p - q + std::hypot(of_a.high - p, q - of_b.low)};
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
