// Renyi divergence of each kind of noise, and of a composition of them.
#pragma once

#include <span>

#include "base/result.h"
#include "secure/dp/account/rdp_curve.h"
#include "secure/dp/account/release.h"

namespace coterie {

// One release without sampling, at one order above 1.
//   Gaussian          order / (2 z^2)
//   Laplace           Mironov 2017, Proposition 6, exact
//   discrete Gaussian order (l2 / sigma)^2 / 2, also for vectors: Canonne, Kamath and Steinke 2020, Theorem 4
//   discrete Laplace  exact for one number, summed over the losses it can have
//   Skellam           Agarwal, Kairouz and Liu 2021 (arXiv 2110.04995), Theorem 3.5
//   tree              order squared_sensitivity / (2 z^2): all its nodes are one Gaussian release
//   distributed       Kairouz, Liu and Steinke 2021 (arXiv 2102.06387), Theorem 1: the least of its three bounds
double unsampled_rdp(const Noise& noise, double order);

// 10 sum over k < parties of exp(-2 pi^2 sigma^2 k / (k + 1)): how far the sum of `parties` discrete Gaussians is from
// one (Kairouz, Liu and Steinke 2021, Theorem 1).
double distributed_gaussian_tau(double local_sigma, uint64_t parties);

// The curve of everything in `composition`, which has been checked. Fails for sampled noise that no bound here is for:
// only Gaussian noise is amplified in these terms.
Result<RdpCurve> rdp_of(const Composition& composition, std::span<const double> orders = default_orders());

}  // namespace coterie
