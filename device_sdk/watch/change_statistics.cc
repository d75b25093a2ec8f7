#include "device_sdk/watch/change_statistics.h"

#include <array>
#include <cmath>

namespace coterie {
namespace {

constexpr double kLeastMean = 1e-9;  // the debugger's epsilon: a weight that began at zero has a ratio, too

}  // namespace

double ChangeStatistics::ratio() const {
  if (count == 0) return 0;
  const auto n = static_cast<double>(count);
  return magnitude_sum / n / (before_sum / n + kLeastMean);
}

ChangeStatistics change_of(std::span<const float> now, std::span<const float> before) {
  // In parts, as tensor_statistics.cc has its sums.
  constexpr size_t kParts = 8;
  std::array<double, kParts> magnitudes{}, befores{}, squares{};
  const auto add = [&](size_t part, size_t i) {
    const double was = static_cast<double>(before[i]), moved = static_cast<double>(now[i]) - was;
    magnitudes[part] += std::abs(moved);
    befores[part] += std::abs(was);
    squares[part] += moved * moved;
  };
  const size_t whole = now.size() / kParts * kParts;
  for (size_t i = 0; i < whole; i += kParts) {
    for (size_t part = 0; part < kParts; ++part) add(part, i + part);
  }
  for (size_t i = whole; i < now.size(); ++i) add(i - whole, i);
  ChangeStatistics change{.count = now.size()};
  for (size_t part = 0; part < kParts; ++part) {
    change.magnitude_sum += magnitudes[part];
    change.before_sum += befores[part];
    change.square_sum += squares[part];
  }
  return change;
}

bool is_close(std::span<const float> now, std::span<const float> before, double relative, double absolute) {
  for (size_t i = 0; i < now.size(); ++i) {
    const double was = static_cast<double>(before[i]), moved = static_cast<double>(now[i]) - was;
    if (!(std::abs(moved) <= absolute + relative * std::abs(was))) return false;
  }
  return true;
}

}  // namespace coterie
