#include "tests/unit/secure/dp/noise_statistics.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"

namespace coterie::test {
namespace {

// Expected value of |X|^power.
double moment(const Magnitudes& p, int power) {
  double sum = 0;
  for (size_t k = p.size() - 1; k > 0; --k) sum += p[k] * std::pow(static_cast<double>(k), power);
  return sum;
}

// z-score of a count of `of` draws with probability p each.
double count_score(double count, double of, double p) {
  return (count - of * p) / std::sqrt(of * p * (1 - p) + 1e-300);
}

}  // namespace

// I_k(v) downwards, as in Numerical Recipes' bessi: in doubles, scaled as it goes. Beside the library's integers this
// is another program, but the golden tables are the reference that counts.
Magnitudes skellam_magnitudes(double variance) {
  const auto reach = static_cast<size_t>(15 * std::sqrt(variance) + 40);
  std::vector<double> y(reach + 2);
  y[reach] = 1e-300;
  for (size_t k = reach; k > 0; --k) {
    y[k - 1] = y[k + 1] + 2 * static_cast<double>(k) / variance * y[k];
  }
  double whole = y[0];
  for (size_t k = 1; k <= reach; ++k) whole += 2 * y[k];
  Magnitudes p(reach + 1);
  for (size_t k = 0; k <= reach; ++k) p[k] = (k == 0 ? 1 : 2) * y[k] / whole;
  return p;
}

Magnitudes gaussian_magnitudes(double variance) {
  const auto reach = static_cast<size_t>(15 * std::sqrt(variance) + 40);
  Magnitudes p(reach + 1);
  double whole = 0;
  for (size_t k = 0; k <= reach; ++k) {
    p[k] = (k == 0 ? 1 : 2) * std::exp(-static_cast<double>(k * k) / (2 * variance));
    whole += p[k];
  }
  for (double& value : p) value /= whole;
  return p;
}

double Verdict::largest() const {
  double largest = 0;
  for (const double z : {mean, variance, skew, kurtosis, beyond_4_sigma, beyond_5_sigma, sign, chi_square}) {
    largest = std::max(largest, std::fabs(z));
  }
  for (const double z : autocorrelation) largest = std::max(largest, std::fabs(z));
  return largest;
}

Examination::Examination(Magnitudes expected) : expected_(std::move(expected)), counts_(2 * expected_.size() + 1) {}

void Examination::add(std::span<const int32_t> draws) {
  const auto reach = static_cast<int32_t>(expected_.size());
  for (size_t i = 0; i < draws.size(); ++i) {
    const double x = draws[i], square = x * x;
    sums_[0] += 1;
    sums_[1] += x;
    sums_[2] += square;
    sums_[3] += square * x;
    sums_[4] += square * square;
    counts_[static_cast<size_t>(std::clamp(draws[i], -reach, reach) + reach)] += 1;
  }
  for (size_t lag = 1; lag <= products_.size(); ++lag) {
    double sum = 0;
    for (size_t i = lag; i < draws.size(); ++i) sum += static_cast<double>(draws[i]) * draws[i - lag];
    products_[lag - 1] += sum;
    pairs_[lag - 1] += static_cast<double>(draws.size() - lag);
  }
}

// Bins of the signed value, each with at least 20 expected draws; what is too rare joins its neighbour.
double Examination::chi_square_score() const {
  double statistic = 0, count = 0, share = 0, left = sums_[0], left_share = sums_[0];
  int bins = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const size_t reach = expected_.size(), magnitude = i > reach ? i - reach : reach - i;
    const double probability = magnitude >= reach ? 0 : expected_[magnitude] / (magnitude == 0 ? 1 : 2);
    count += counts_[i];
    share += sums_[0] * probability;
    if (share < 20 || left_share - share < 20) continue;  // the last bin takes what is left
    statistic += (count - share) * (count - share) / share;
    left -= count;
    left_share -= share;
    count = share = 0;
    ++bins;
  }
  COT_ASSERT(bins >= 1);
  statistic += (left - left_share) * (left - left_share) / left_share;
  const double freedom = bins;  // bins + 1, less one
  return (std::cbrt(statistic / freedom) - (1 - 2 / (9 * freedom))) / std::sqrt(2 / (9 * freedom));
}

Verdict Examination::verdict() const {
  const double n = sums_[0];
  COT_ASSERT(n >= 1e4);
  const double m2 = moment(expected_, 2), m4 = moment(expected_, 4);
  const double m6 = moment(expected_, 6), m8 = moment(expected_, 8);
  const size_t middle = expected_.size();
  // Draws of at least this many sigmas, and how many of them to expect.
  const auto beyond = [&](double sigmas) {
    const auto from = static_cast<size_t>(std::ceil(sigmas * std::sqrt(m2)));
    double count = 0, probability = 0;
    for (size_t k = from; k <= middle; ++k) count += counts_[middle + k] + counts_[middle - k];
    for (size_t k = from; k < middle; ++k) probability += expected_[k];
    // Below 20 a normal score means little: then a third of the excess over three counts.
    if (n * probability < 20) return std::max(0.0, count - n * probability - 3) / 3;
    return count_score(count, n, probability);
  };
  double positive = 0;
  for (size_t k = 1; k <= middle; ++k) positive += counts_[middle + k];
  Verdict verdict{};
  verdict.mean = sums_[1] / std::sqrt(n * m2);
  verdict.variance = (sums_[2] - n * m2) / std::sqrt(n * (m4 - m2 * m2));
  verdict.skew = sums_[3] / std::sqrt(n * m6);
  verdict.kurtosis = (sums_[4] - n * m4) / std::sqrt(n * (m8 - m4 * m4));
  verdict.beyond_4_sigma = beyond(4);
  verdict.beyond_5_sigma = beyond(5);
  verdict.sign = count_score(positive, n - counts_[middle], 0.5);
  verdict.chi_square = chi_square_score();
  for (size_t lag = 1; lag <= products_.size(); ++lag) {
    verdict.autocorrelation[lag - 1] = products_[lag - 1] / (std::sqrt(pairs_[lag - 1]) * m2);
  }
  return verdict;
}

Verdict examine(std::span<const int32_t> draws, const Magnitudes& expected) {
  Examination examination(expected);
  examination.add(draws);
  return examination.verdict();
}

}  // namespace coterie::test
