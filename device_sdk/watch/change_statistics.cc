#include "device_sdk/watch/change_statistics.h"

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
  ChangeStatistics change{.count = now.size()};
  for (size_t i = 0; i < now.size(); ++i) {
    const double was = static_cast<double>(before[i]), moved = static_cast<double>(now[i]) - was;
    change.magnitude_sum += std::abs(moved);
    change.before_sum += std::abs(was);
    change.square_sum += moved * moved;
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
