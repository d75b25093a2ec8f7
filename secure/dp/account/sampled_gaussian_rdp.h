// Renyi divergence of Gaussian noise on a sample of the records. All orders at once: they share the work.
//
// Only positive terms are added, in logarithms: nothing cancels, whatever q and sigma, and there is no series that may
// fail to converge.
#pragma once

#include <span>
#include <vector>

namespace coterie {

// Poisson sampling, a person comes or goes: Mironov, Talwar and Zhang 2019 (arXiv 1908.10530), of which these are the
// values themselves:  (order - 1) RDP = log E_{x ~ N(0, sigma^2)} (1 - q + q exp((2x - 1) / (2 sigma^2)))^order.
// Whole orders by the binomial sum, whose first two terms are taken out as they sum to what 1 is made of. Others by the
// trapezoid rule on the integral less its value and slope at q = 0: the integrand is analytic in a strip, so the error
// falls exponentially (Trefethen and Weideman 2014) and is below 1e-12 here. For sigma below kSigmaOfIntegral others
// are bounded from above by the chord between whole orders, for (order - 1) RDP is convex in the order. Orders up to
// kChooseMax. 0 < rate <= 1.
std::vector<double> poisson_gaussian_rdp(double rate, double noise_multiplier, std::span<const double> orders);

// Sampling without replacement, a person is replaced: an upper bound, Theorem 27 of Wang, Balle and Kasiviswanathan
// 2019 (arXiv 1808.00087), for other than whole orders the chord (their Corollary 10). The theorem's forward
// differences are moments E(r - 1)^l of the ratio r of two normal densities, and are integrated as such. `rate`: drawn
// / all.
std::vector<double> without_replacement_gaussian_rdp(double rate, double noise_multiplier,
                                                     std::span<const double> orders);

inline constexpr double kSigmaOfIntegral = 0.1;

}  // namespace coterie
