#include "secure/dp/account/poisson_sampler.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "secure/crypto/random.h"
#include "secure/dp/account/limits.h"
#include "secure/dp/account/number_words.h"

namespace coterie {

Result<PoissonSampler> PoissonSampler::create(double rate) {
  if (!(rate >= account_limits::kSamplingRateMin && rate <= 1)) {
    return Error(ErrorCode::invalid_argument, "a Poisson sampler's rate must be from " +
                                                  number_words(account_limits::kSamplingRateMin) + " to 1, is " +
                                                  number_words(rate));
  }
  // A coin has 53 bits. The rate is rounded up to what a coin can have, and that is the rate that is accounted for.
  const double threshold = std::ceil(std::ldexp(rate, 53));
  return PoissonSampler(static_cast<uint64_t>(threshold),
                        Sampling(Sampling::Kind::poisson, std::ldexp(threshold, -53), ""));
}

std::vector<uint64_t> PoissonSampler::draw(uint64_t records) const {
  std::vector<uint64_t> drawn;
  std::array<uint64_t, 512> coins;
  for (uint64_t first = 0; first < records; first += coins.size()) {
    const std::span<uint64_t> some = std::span(coins).first(std::min<uint64_t>(coins.size(), records - first));
    fill_random(std::span(reinterpret_cast<uint8_t*>(some.data()), some.size_bytes()));
    for (const uint64_t index : heads_of(some, threshold_)) drawn.push_back(first + index);
  }
  return drawn;
}

std::vector<uint64_t> heads_of(std::span<const uint64_t> coins, uint64_t threshold) {
  std::vector<uint64_t> heads;
  for (size_t i = 0; i < coins.size(); ++i) {
    if (coins[i] >> 11 < threshold) heads.push_back(i);
  }
  return heads;
}

}  // namespace coterie
