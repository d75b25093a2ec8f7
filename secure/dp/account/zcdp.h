// Zero-concentrated differential privacy: Bun and Steinke 2016 (arXiv 1605.02658). rho adds up under composition.
#pragma once

#include <optional>

#include "secure/dp/account/rdp_curve.h"
#include "secure/dp/account/release.h"

namespace coterie {

// The rho of everything, where it has one: Gaussian noise, continuous or discrete, without sampling. Google's reports
// of federated language models (2305.18465) give it.
std::optional<double> rho_of(const Composition& composition);

// The tight way: rho-zCDP is RDP of rho times the order at every order (their Lemma 2.2), then as any RDP.
RdpEpsilon zcdp_epsilon(double rho, double delta);

// Their Proposition 1.3, rho + 2 sqrt(rho log(1 / delta)): never better, and easy to check by hand.
double bun_steinke_epsilon(double rho, double delta);

}  // namespace coterie
