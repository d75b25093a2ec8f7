#include "secure/dp/noise/wide_gaussian.h"

#include <algorithm>
#include <array>
#include <string>

#include "secure/crypto/secret.h"

namespace coterie {
namespace {

constexpr double kInnerVariance = 65536;  // sigma 256
constexpr int64_t kStep = 64;
constexpr double kSmoothing = 0x1p-320;
constexpr size_t kTile = 512;

double outer_variance(double sigma) { return (sigma * sigma - kInnerVariance) / (kStep * kStep); }

}  // namespace

Result<WideGaussian> WideGaussian::make(double sigma) {
  if (!(sigma >= kSigmaMin && sigma <= kSigmaMax)) {  // false for NaN, too
    return Error(ErrorCode::invalid_argument, "noise: sigma must be in [512, 65536] steps of the grid, is " +
                                                  std::to_string(sigma) + "; choose another grid");
  }
  COT_ASSIGN(NoiseSampler inner, NoiseSampler::make(NoiseKind::discrete_gaussian, kInnerVariance, NoiseWord::bits128));
  COT_ASSIGN(NoiseSampler outer,
             NoiseSampler::make(NoiseKind::discrete_gaussian, outer_variance(sigma), NoiseWord::bits128));
  return WideGaussian(sigma, std::move(inner), std::move(outer));
}

void WideGaussian::add_to(const ByteSource& inner, const ByteSource& outer, uint64_t first,
                          std::span<uint64_t> lanes) const {
  inner_.add_to(inner, first, lanes);
  std::array<int32_t, kTile> noise;
  for (size_t begin = 0; begin < lanes.size(); begin += kTile) {
    const size_t count = std::min(kTile, lanes.size() - begin);
    outer_.draw(outer, first + begin, std::span(noise).first(count));
    for (size_t i = 0; i < count; ++i) lanes[begin + i] += static_cast<uint64_t>(int64_t{noise[i]} * kStep);
  }
  wipe({reinterpret_cast<uint8_t*>(noise.data()), sizeof noise});
}

double WideGaussian::total_variation() const {
  return (inner_.table().total_variation + outer_.table().total_variation + kSmoothing) * (1 + 0x1p-40);
}

}  // namespace coterie
