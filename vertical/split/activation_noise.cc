#include "vertical/split/activation_noise.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "secure/crypto/stream_cipher.h"
#include "secure/dp/account/account.h"
#include "secure/dp/noise/key_stream_source.h"

namespace coterie::vertical {
namespace {

double noise_steps(const SplitSettings& settings) { return settings.activation_noise * kActivationGrid; }

}  // namespace

Result<ActivationNoise> ActivationNoise::make(const SplitSettings& settings, uint64_t releases_in_all) {
  const double sigma = noise_steps(settings);
  COT_ASSIGN(NoiseSampler sampler,
             NoiseSampler::make(NoiseKind::discrete_gaussian, sigma * sigma, releases_in_all * cut_width(settings)));
  return ActivationNoise(settings.activation_clip, std::move(sampler));
}

double ActivationNoise::factor(std::span<const float> row) const {
  double squares = 0;
  for (const float value : row) squares += double{value} * double{value};
  return squares > clip_ * clip_ ? clip_ / std::sqrt(squares) : 1;
}

void ActivationNoise::release(std::span<float> activations, size_t width, const Secret<32>& seed, SplitDraw draw,
                              uint32_t step) const {
  Result<KeyStream> stream = KeyStream::make(CipherSuite::aes256_ctr, split_seed(seed, draw, step));
  COT_ASSERT(stream.has_value());
  const KeyStreamSource source(std::move(*stream));
  std::vector<int32_t> noise(activations.size());
  sampler_.draw(source, 0, noise);
  const double grid = clip_ / kActivationGrid;
  for (size_t first = 0; first < activations.size(); first += width) {
    const double shrunk = factor(activations.subspan(first, width));
    for (size_t i = first; i < first + width; ++i) {
      const double place = std::nearbyint(double{activations[i]} * shrunk / grid);
      activations[i] = static_cast<float>((place + noise[i]) * grid);
    }
  }
  std::ranges::fill(noise, 0);
}

Result<double> activation_epsilon(const SplitSettings& settings, uint64_t releases) {
  // Any vector in place of any other: twice the norm, and half a step of the grid in each direction of either.
  const double sensitivity = 2 * kActivationGrid + std::sqrt(static_cast<double>(cut_width(settings)));
  const Composition composition = {
      {.noise = DiscreteGaussianNoise{.sigma = noise_steps(settings), .l2_sensitivity = sensitivity},
       .sampling = Sampling::none(),
       .steps = releases}};
  COT_ASSIGN(const PrivacyAccount account, account_for(composition, kActivationDelta));
  return account.epsilon;
}

}  // namespace coterie::vertical
