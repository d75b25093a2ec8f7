#include "aggregation/robust/update_distances.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.h"

namespace coterie {
namespace {

constexpr uint64_t kBlockValues = 2048;  // of all updates at a time, so that they stay in a cache

// Adds (a[i] - b[i])^2 of place first + i; null is 0.
void add_squares(uint64_t first, std::span<const float> a, const float* b, SumsByPlace& sums) {
  sums.add(first, a.size(), [a, b](size_t i) {
    const double difference = static_cast<double>(a[i]) - (b == nullptr ? 0.0 : static_cast<double>(b[i]));
    return difference * difference;
  });
}

}  // namespace

UpdateDistances::UpdateDistances(size_t updates) : updates_(updates), pairs_(updates * (updates + 1) / 2) {}

void UpdateDistances::add(uint64_t first, std::span<const std::span<const float>> rows) {
  COT_ASSERT(rows.size() == updates_);
  const size_t count = rows.empty() ? 0 : rows[0].size();
  for (size_t offset = 0; offset < count; offset += kBlockValues) {
    const size_t size = std::min<size_t>(kBlockValues, count - offset);
    // Pairs lie in a triangle: (low, high) is at high (high - 1) / 2 + low. The last row of it is the zero vector,
    // whose distances are the updates' norms.
    for (size_t high = 1; high <= updates_; ++high) {
      const float* const other = high == updates_ ? nullptr : rows[high].data() + offset;
      for (size_t low = 0; low < high; ++low) {
        add_squares(first + offset, rows[low].subspan(offset, size), other, pairs_[high * (high - 1) / 2 + low]);
      }
    }
  }
}

double UpdateDistances::between(size_t one, size_t other) const {
  return one == other ? 0 : pair(std::min(one, other), std::max(one, other)).total();
}

double UpdateDistances::squared(size_t one, size_t other) const {
  COT_ASSERT(one < updates_ && other < updates_);
  return between(one, other);
}

double UpdateDistances::squared_norm(size_t update) const {
  COT_ASSERT(update < updates_);
  return between(update, updates_);
}

// With shares a that sum to 1 over the points p: |x - sum a p|^2 = sum a |x - p|^2 - sum sum a a |p - p'|^2 / 2.
std::vector<double> UpdateDistances::squared_to_mixture(std::span<const double> shares) const {
  COT_ASSERT(shares.size() == updates_);
  std::vector<double> all(shares.begin(), shares.end());
  all.push_back(1 - std::accumulate(shares.begin(), shares.end(), 0.0));
  std::vector<double> to_points(all.size());
  double among_points = 0;
  for (size_t one = 0; one < all.size(); ++one) {
    for (size_t other = 0; other < all.size(); ++other) to_points[one] += all[other] * between(one, other);
    among_points += all[one] * to_points[one] / 2;
  }
  to_points.pop_back();
  // A difference of rounded sums may be below 0, and has a root taken of it.
  for (double& distance : to_points) distance = std::max(0.0, distance - among_points);
  return to_points;
}

}  // namespace coterie
