#include "tools/simulate/counted_shares.h"

#include <algorithm>
#include <numeric>

namespace coterie {

uint64_t CountedShares::devices() const {
  return static_cast<uint64_t>(std::ranges::count_if(counted_, [](uint32_t rounds) { return rounds > 0; }));
}

std::array<double, 4> CountedShares::by_speed(const std::function<double(uint32_t)>& seconds_of) const {
  std::vector<std::pair<double, uint32_t>> order;
  for (uint32_t device = 0; device < counted_.size(); ++device) order.emplace_back(seconds_of(device), device);
  std::ranges::sort(order);
  std::array<double, 4> shares = {};
  const auto all = static_cast<double>(std::accumulate(counted_.begin(), counted_.end(), uint64_t{0}));
  if (all == 0) return shares;
  for (size_t i = 0; i < order.size(); ++i) {
    shares[4 * i / order.size()] += static_cast<double>(counted_[order[i].second]) / all;
  }
  return shares;
}

}  // namespace coterie
