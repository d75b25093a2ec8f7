#include "secure/dp/account/fourier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "base/random.h"

namespace coterie {
namespace {

using Complex = std::complex<double>;

std::vector<double> random_values(size_t size) {
  Prng prng(size);
  std::vector<double> values(size);
  for (double& value : values) value = prng.uniform(-1, 1);
  return values;
}

TEST(RealFourier, IsItsDefinition) {
  for (const size_t size : {2, 4, 8, 16, 64, 256}) {
    const std::vector<double> values = random_values(size);
    const RealFourier<double> fourier(size);
    std::vector<Complex> spectrum(fourier.spectrum_size());
    fourier.forward(values, spectrum);
    for (size_t k = 0; k < spectrum.size(); ++k) {
      Complex expected = 0;
      for (size_t n = 0; n < size; ++n) {
        expected += values[n] * std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k * n % size) /
                                                    static_cast<double>(size));
      }
      EXPECT_LT(std::abs(spectrum[k] - expected), 1e-13) << size << " " << k;
    }
  }
}

TEST(RealFourier, ComesBackWithinItsErrorBound) {
  for (const size_t size : {2, 4, 1 << 10, 1 << 15}) {
    const std::vector<double> values = random_values(size);
    const RealFourier<double> fourier(size);
    std::vector<Complex> spectrum(fourier.spectrum_size());
    std::vector<double> back(size);
    fourier.forward(values, spectrum);
    double absolute = 0;
    for (const Complex& value : spectrum) absolute += 2 * std::abs(value);
    fourier.backward(spectrum, back);
    double sum = 0;
    for (const double value : values) sum += std::abs(value);
    const double one_way = kFourierErrorFactor * std::log2(static_cast<double>(size)) * 0x1p-53;
    for (size_t i = 0; i < size; ++i) {
      EXPECT_NEAR(back[i], values[i], one_way * (sum + absolute / static_cast<double>(size))) << size << " " << i;
    }
  }
}

TEST(RealFourier, IsMorePreciseInLongDoubles) {
  constexpr size_t kSize = 1 << 12;
  const std::vector<double> values = random_values(kSize);
  const std::vector<long double> wide(values.begin(), values.end());
  const RealFourier<long double> fourier(kSize);
  std::vector<std::complex<long double>> spectrum(fourier.spectrum_size());
  std::vector<long double> back(kSize);
  fourier.forward(wide, spectrum);
  fourier.backward(spectrum, back);
  const long double error = kFourierErrorFactor * 12 * std::numeric_limits<long double>::epsilon() / 2;
  for (size_t i = 0; i < kSize; ++i) EXPECT_LE(std::abs(back[i] - wide[i]), error * 2 * kSize) << i;
}

}  // namespace
}  // namespace coterie
