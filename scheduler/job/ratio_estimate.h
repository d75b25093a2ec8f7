// A ratio of two sums over devices, with an interval in which devices are the draws. Pure.
//
// An accuracy is such a ratio, p = sum y / sum n, and its standard error is of the devices' residuals, not of the
// examples:
//   se^2 = N / (N - 1) * sum (y - p n)^2 / (sum n)^2      of N devices
// (ratio estimator; Cochran 1977, section 2.11). Examples of one device are alike: were each a draw of its own, the
// interval would come out too narrow. The interval is p +- t se, with Student's t of N - 1 degrees, within what the
// ratio is by its nature. It holds in 95 of 100 cases for the devices that could have been asked, and says nothing of
// those that never come.
#pragma once

#include <cstdint>
#include <optional>

namespace coterie {

struct RatioEstimate {
  double value = 0;
  // None: fewer than kIntervalDevicesMin devices, or they do not differ, and nothing tells how far others would.
  std::optional<double> low, high;
};
inline constexpr uint64_t kIntervalDevicesMin = 3;

// The sums that a ratio's error is made of: of the base n, of what is counted y, and of their products.
struct RatioSums {
  double devices = 0, n = 0, y = 0, nn = 0, ny = 0, yy = 0;
};
// None without a base. `at_least`, `at_most`: what the ratio is by its nature.
std::optional<RatioEstimate> ratio_estimate(const RatioSums& sums, double at_least, double at_most);

}  // namespace coterie
