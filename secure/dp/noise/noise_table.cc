#include "secure/dp/noise/noise_table.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/assert.h"

namespace coterie {
namespace {

struct Rounded {
  uint64_t high = 0;
  uint64_t low = 0;
  double excess = 0;  // rounded - exact, in units of the last place: in [-0.5, 0.5]
};

// round(part / whole * 2^bits), part < whole, by long division: exact up to the last rounding, where halves go up.
Rounded fixed_quotient(WideUint part, const WideUint& whole, int bits) {
  Rounded q;
  for (int i = 0; i < bits; ++i) {
    part += part;
    const bool one = !(part < whole);
    if (one) part -= whole;
    q.high = q.high << 1 | q.low >> 63;
    q.low = q.low << 1 | static_cast<uint64_t>(one);
  }
  const double remainder = part.to_double() / whole.to_double();
  part += part;
  const bool up = !(part < whole);
  q.excess = up ? 1 - remainder : -remainder;
  if (up && ++q.low == 0) ++q.high;
  return q;
}

// In-order: the left subtree, whose thresholds are higher, holds the answers "fewer".
size_t fill_tree(const std::vector<uint64_t>& sorted, size_t node, size_t next, std::vector<uint64_t>& tree) {
  if (node >= tree.size()) return next;
  next = fill_tree(sorted, 2 * node, next, tree);
  tree[node] = next < sorted.size() ? sorted[next] : 0;
  return fill_tree(sorted, 2 * node + 1, next + 1, tree);
}

}  // namespace

NoiseTable make_noise_table(NoiseKind kind, double variance, NoiseWord word) {
  COT_ASSERT(variance >= kNoiseVarianceMin && variance <= kNoiseVarianceMax);
  const std::vector<WideUint> weights =
      kind == NoiseKind::skellam ? skellam_weights(variance) : discrete_gaussian_weights(variance);
  // tails[k] = 2 * the sum of the weights behind k. From the end, so that each is one addition.
  std::vector<WideUint> tails(weights.size());
  for (size_t k = weights.size() - 1; k > 0; --k) {
    tails[k - 1] = tails[k];
    tails[k - 1] += weights[k];
    tails[k - 1] += weights[k];
  }
  WideUint whole = tails[0];
  whole += weights[0];

  const int bits = word == NoiseWord::bits64 ? 63 : 127;
  NoiseTable table{.word = word};
  double excess_before = 0, sum = 0;
  for (const WideUint& tail : tails) {
    const Rounded q = fixed_quotient(tail, whole, bits);
    // What rounding two neighbouring thresholds makes of the probability between them. Half the sum of these is the
    // total variation.
    sum += std::fabs(q.excess - excess_before);
    excess_before = q.excess;
    if (word == NoiseWord::bits64 ? q.low == 0 : (q.high | q.low) == 0) break;
    table.high.push_back(word == NoiseWord::bits64 ? q.low : q.high);
    if (word == NoiseWord::bits128) table.low.push_back(q.low);
  }
  sum += std::fabs(excess_before);  // all that lies behind the table: its tail is what was rounded away last
  const double of_weights = std::ldexp(static_cast<double>(table.high.size() + 1), -kNoiseWeightBits);
  table.total_variation = (std::ldexp(sum / 2, -bits) + of_weights) * (1 + 0x1p-30);

  table.levels = std::max(4, static_cast<int>(std::bit_width(table.high.size())));
  table.tree_high.resize(size_t{1} << table.levels);
  fill_tree(table.high, 1, 0, table.tree_high);
  if (word == NoiseWord::bits128) {
    table.tree_low.resize(table.tree_high.size());
    fill_tree(table.low, 1, 0, table.tree_low);
  }
  return table;
}

}  // namespace coterie
