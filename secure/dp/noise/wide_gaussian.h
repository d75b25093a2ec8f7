// WideGaussian: discrete Gaussian noise of a sigma beyond every table, for sums on a fine grid.
//
//   X = Y + kStep * Z,   Y ~ N_Z(0, kInnerVariance),  Z ~ N_Z(0, variance of Z),   independent, each from its table
//
// is a discrete Gaussian of variance kInnerVariance + kStep^2 * var(Z), but for a factor within 1 +- e of every
// probability (Micciancio and Walter 2017, section 3): completing the square leaves a sum over the coset kStep * Z of a
// Gaussian of deviation s = sqrt(kInnerVariance) * kStep * sigma_Z / sigma, which is constant up to
// e = 2 exp(-2 pi^2 s^2 / kStep^2) by Poisson summation. For every sigma allowed here s >= 0.86 * 256 = 3.4 * kStep, so
// that e < 2^-320. What the tables round away is far more: both together, a coordinate, at most kTotalVariationMax.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "secure/dp/noise/noise_sampler.h"

namespace coterie {

class WideGaussian {
 public:
  static constexpr double kSigmaMin = 512;
  static constexpr double kSigmaMax = 65536;
  static constexpr double kTotalVariationMax = 0x1p-112;  // between a coordinate and the distribution that is meant

  // invalid_argument unless sigma is in [kSigmaMin, kSigmaMax]. Makes two tables of 128-bit words: takes milliseconds.
  static Result<WideGaussian> make(double sigma);

  double sigma() const { return sigma_; }

  // Adds coordinate first + i to lanes[i], modulo 2^64; however a vector is cut, it gets the same noise. The two
  // sources are independent streams, each of a fresh secret seed. Thread-safe.
  void add_to(const ByteSource& inner, const ByteSource& outer, uint64_t first, std::span<uint64_t> lanes) const;

  // As it is of the tables that were made; at most kTotalVariationMax.
  double total_variation() const;

 private:
  WideGaussian(double sigma, NoiseSampler inner, NoiseSampler outer)
      : sigma_(sigma), inner_(std::move(inner)), outer_(std::move(outer)) {}

  double sigma_;
  NoiseSampler inner_;
  NoiseSampler outer_;
};

}  // namespace coterie
