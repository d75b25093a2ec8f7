// What draws of a noise distribution look like, as z-scores and tail probabilities: each number is a test that a false
// sampler fails. For the tests of the sampler, and for those of the tests.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace coterie::test {

// P(|X| = k), k = 0, 1, ... of a distribution that is symmetric about 0.
using Magnitudes = std::vector<double>;

Magnitudes skellam_magnitudes(double variance);   // variance up to 10^5
Magnitudes gaussian_magnitudes(double variance);  // discrete Gaussian

struct Verdict {
  // Standard normal where the draws are of the distribution: z-scores of the mean, the variance, the third and the
  // fourth moment, the number of draws beyond 4 and 5 sigma, and the sign.
  double mean, variance, skew, kurtosis, beyond_4_sigma, beyond_5_sigma, sign;
  // Normal, too: the chi-square statistic over bins of at least 20 expected draws, by Wilson and Hilferty's cube root.
  double chi_square;
  std::array<double, 16> autocorrelation;  // lag 1 .. 16

  // The largest of them all in magnitude. Were the scores exactly normal, P(largest > kVerdictLimit) would be below
  // 24 * 2e-9 where all is well; with what a million draws leave of the moments' own skewness it is below 10^-6.
  double largest() const;
};
inline constexpr double kVerdictLimit = 6;

// Takes draws in parts of any size, at least 10^4 in all.
class Examination {
 public:
  explicit Examination(Magnitudes expected);

  void add(std::span<const int32_t> draws);
  Verdict verdict() const;

 private:
  double chi_square_score() const;

  Magnitudes expected_;
  std::vector<double> counts_;    // of -size .. size; the outermost hold all that is beyond
  std::array<double, 5> sums_{};  // of powers
  std::array<double, 16> products_{}, pairs_{};
};

Verdict examine(std::span<const int32_t> draws, const Magnitudes& expected);

}  // namespace coterie::test
