// Discrete Fourier transform of real numbers, in place of a library: privacy loss distributions are added up with it.
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <vector>

namespace coterie {

// For one size, a power of two from 2. Each result is off by less than kFourierErrorFactor x log2(size) x 2^-53 x the
// sum of the absolute values that went in (backward: over size): as many roundings as stages, each of a turn, a product
// and a sum (Higham 2002, section 24.1).
inline constexpr double kFourierErrorFactor = 8;

class RealFourier {
 public:
  explicit RealFourier(size_t size);

  size_t size() const { return size_; }
  size_t spectrum_size() const { return size_ / 2 + 1; }

  // spectrum[k] = sum_n values[n] e^(-2 pi i k n / size), k from 0 to size / 2; the rest is its mirror.
  void forward(std::span<const double> values, std::span<std::complex<double>> spectrum) const;
  // The inverse, with its 1 / size. Uses up `spectrum`.
  void backward(std::span<std::complex<double>> spectrum, std::span<double> values) const;

 private:
  template <bool kIsInverse>
  void transform(std::complex<double>* data) const;

  size_t size_;
  std::vector<std::complex<double>> turns_;  // e^(-2 pi i k / size), k below size / 2
};

}  // namespace coterie
