#include "secure/dp/account/fourier.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/assert.h"

namespace coterie {
namespace {

using Complex = std::complex<double>;

// Without what std::complex does about infinities.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

void reverse_bits(Complex* data, size_t count) {
  for (size_t i = 1, j = 0; i < count; ++i) {
    size_t bit = count >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j |= bit;
    if (i < j) std::swap(data[i], data[j]);
  }
}

}  // namespace

RealFourier::RealFourier(size_t size) : size_(size), turns_(size / 2) {
  COT_ASSERT(size >= 2 && std::has_single_bit(size));
  for (size_t k = 0; k < turns_.size(); ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
    turns_[k] = {std::cos(angle), std::sin(angle)};
  }
}

// Transforms size / 2 complex numbers, radix 2, decimation in time; the first two stages, with turns 1 and -i, at once.
template <bool kIsInverse>
void RealFourier::transform(Complex* data) const {
  const size_t count = size_ / 2;
  reverse_bits(data, count);
  size_t half = 1;
  if (count >= 4) {
    for (size_t i = 0; i < count; i += 4) {
      const Complex a = data[i] + data[i + 1];
      const Complex b = data[i] - data[i + 1];
      const Complex c = data[i + 2] + data[i + 3];
      const Complex d = data[i + 2] - data[i + 3];
      const Complex turned = kIsInverse ? Complex(-d.imag(), d.real()) : Complex(d.imag(), -d.real());
      data[i] = a + c;
      data[i + 1] = b + turned;
      data[i + 2] = a - c;
      data[i + 3] = b - turned;
    }
    half = 4;
  }
  for (; half < count; half *= 2) {
    const size_t stride = size_ / (2 * half);
    for (size_t begin = 0; begin < count; begin += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const Complex turn = kIsInverse ? std::conj(turns_[k * stride]) : turns_[k * stride];
        const Complex odd = times(turn, data[begin + half + k]);
        const Complex even = data[begin + k];
        data[begin + k] = even + odd;
        data[begin + half + k] = even - odd;
      }
    }
  }
}

// Even values as real parts, odd ones as imaginary parts of a transform of half the size, taken apart afterwards.
void RealFourier::forward(std::span<const double> values, std::span<Complex> spectrum) const {
  COT_ASSERT(values.size() == size_ && spectrum.size() == spectrum_size());
  const size_t half = size_ / 2;
  for (size_t i = 0; i < half; ++i) spectrum[i] = {values[2 * i], values[2 * i + 1]};
  transform<false>(spectrum.data());
  const Complex first = spectrum[0];
  spectrum[0] = first.real() + first.imag();
  spectrum[half] = first.real() - first.imag();
  for (size_t k = 1; k <= half / 2; ++k) {
    const Complex a = spectrum[k];
    const Complex b = std::conj(spectrum[half - k]);
    const Complex even = 0.5 * (a + b);
    const Complex odd = times(turns_[k], times({0, -0.5}, a - b));
    spectrum[k] = even + odd;
    spectrum[half - k] = std::conj(even - odd);
  }
}

void RealFourier::backward(std::span<Complex> spectrum, std::span<double> values) const {
  COT_ASSERT(values.size() == size_ && spectrum.size() == spectrum_size());
  const size_t half = size_ / 2;
  const double first = spectrum[0].real();
  const double last = spectrum[half].real();
  spectrum[0] = {0.5 * (first + last), 0.5 * (first - last)};
  for (size_t k = 1; k <= half / 2; ++k) {
    const Complex a = spectrum[k];
    const Complex b = std::conj(spectrum[half - k]);
    const Complex even = 0.5 * (a + b);
    const Complex odd = times(std::conj(turns_[k]), 0.5 * (a - b));
    spectrum[k] = even + times({0, 1}, odd);
    spectrum[half - k] = std::conj(even - times({0, 1}, odd));
  }
  transform<true>(spectrum.data());
  const double scale = 1 / static_cast<double>(half);
  for (size_t i = 0; i < half; ++i) {
    values[2 * i] = spectrum[i].real() * scale;
    values[2 * i + 1] = spectrum[i].imag() * scale;
  }
}

}  // namespace coterie
