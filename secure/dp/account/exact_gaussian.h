// The exact trade-off of Gaussian noise without sampling: Balle and Wang 2018 (arXiv 1805.06530), Theorem 8.
#pragma once

namespace coterie {

// The least delta at `epsilon` >= 0:  Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu),  mu = sensitivity /
// sigma. Relative error below 1e-12 / mu: as a difference of Mills ratios, it is not the difference of two nearly equal
// numbers.
double gaussian_delta(double mu, double epsilon);

// The least epsilon at `delta`, to 1e-12 relative and rounded up: at what is returned, delta is not exceeded.
double gaussian_epsilon(double mu, double delta);

}  // namespace coterie
