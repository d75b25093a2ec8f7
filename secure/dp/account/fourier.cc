#include "secure/dp/account/fourier.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/assert.h"

namespace coterie {
namespace {

// Without what std::complex does about infinities.
template <typename Real>
std::complex<Real> times(std::complex<Real> a, std::complex<Real> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <typename Real>
void reverse_bits(std::complex<Real>* data, size_t count) {
  for (size_t i = 1, j = 0; i < count; ++i) {
    size_t bit = count >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j |= bit;
    if (i < j) std::swap(data[i], data[j]);
  }
}

}  // namespace

template <typename Real>
RealFourier<Real>::RealFourier(size_t size) : size_(size), turns_(size / 2) {
  COT_ASSERT(size >= 2 && std::has_single_bit(size));
  for (size_t k = 0; k < turns_.size(); ++k) {
    const Real angle = -2 * std::numbers::pi_v<Real> * static_cast<Real>(k) / static_cast<Real>(size);
    turns_[k] = {std::cos(angle), std::sin(angle)};
  }
}

// Transforms size / 2 complex numbers, radix 2, decimation in time; the first two stages, with turns 1 and -i, at once.
template <typename Real>
template <bool kIsInverse>
void RealFourier<Real>::transform(std::complex<Real>* data) const {
  using Complex = std::complex<Real>;
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
template <typename Real>
void RealFourier<Real>::forward(std::span<const Real> values, std::span<std::complex<Real>> spectrum) const {
  COT_ASSERT(values.size() == size_ && spectrum.size() == spectrum_size());
  using Complex = std::complex<Real>;
  constexpr Real kHalf = 0.5;
  const size_t half = size_ / 2;
  for (size_t i = 0; i < half; ++i) spectrum[i] = {values[2 * i], values[2 * i + 1]};
  transform<false>(spectrum.data());
  // Frequencies 0 and size / 2 of real values are real: the transform of half the size has both in one number.
  const Complex first = spectrum[0];
  spectrum[0] = first.real() + first.imag();
  spectrum[half] = first.real() - first.imag();
  for (size_t k = 1; k <= half / 2; ++k) {
    const Complex a = spectrum[k];
    const Complex b = std::conj(spectrum[half - k]);
    const Complex even = kHalf * (a + b);
    const Complex odd = times(turns_[k], times(Complex(0, -kHalf), a - b));
    spectrum[k] = even + odd;
    spectrum[half - k] = std::conj(even - odd);
  }
}

template <typename Real>
void RealFourier<Real>::backward(std::span<std::complex<Real>> spectrum, std::span<Real> values) const {
  COT_ASSERT(values.size() == size_ && spectrum.size() == spectrum_size());
  using Complex = std::complex<Real>;
  constexpr Real kHalf = 0.5;
  const size_t half = size_ / 2;
  const Real first = spectrum[0].real();
  const Real last = spectrum[half].real();
  spectrum[0] = {kHalf * (first + last), kHalf * (first - last)};
  for (size_t k = 1; k <= half / 2; ++k) {
    const Complex a = spectrum[k];
    const Complex b = std::conj(spectrum[half - k]);
    const Complex even = kHalf * (a + b);
    const Complex odd = times(std::conj(turns_[k]), kHalf * (a - b));
    spectrum[k] = even + times(Complex(0, 1), odd);
    spectrum[half - k] = std::conj(even - times(Complex(0, 1), odd));
  }
  transform<true>(spectrum.data());
  const Real scale = 1 / static_cast<Real>(half);
  for (size_t i = 0; i < half; ++i) {
    values[2 * i] = spectrum[i].real() * scale;
    values[2 * i + 1] = spectrum[i].imag() * scale;
  }
}

template class RealFourier<double>;
template class RealFourier<long double>;

}  // namespace coterie
