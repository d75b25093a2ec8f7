// Discrete Fourier transform of real numbers, in place of a library: privacy loss distributions are added up with it.
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <vector>

namespace coterie {

// For one size, a power of two from 2. Each result is off by less than kFourierErrorFactor x log2(size) x half of
// Real's epsilon x the sum of the absolute values that went in (backward: over size): as many roundings as stages, each
// of a turn, a product and a sum (Higham 2002, section 24.1). Real: double, or long double where a double's error
// matters (11 bits more on x86; where a platform's long double is a double, the error is that of a double).
inline constexpr double kFourierErrorFactor = 8;

template <typename Real>
class RealFourier {
 public:
  explicit RealFourier(size_t size);

  size_t size() const { return size_; }
  size_t spectrum_size() const { return size_ / 2 + 1; }

  // spectrum[k] = sum_n values[n] e^(-2 pi i k n / size), k from 0 to size / 2; the rest is its mirror.
  void forward(std::span<const Real> values, std::span<std::complex<Real>> spectrum) const;
  // The inverse, with its 1 / size. Uses up `spectrum`.
  void backward(std::span<std::complex<Real>> spectrum, std::span<Real> values) const;

 private:
  template <bool kIsInverse>
  void transform(std::complex<Real>* data) const;

  size_t size_;
  std::vector<std::complex<Real>> turns_;  // e^(-2 pi i k / size), k below size / 2
};

extern template class RealFourier<double>;
extern template class RealFourier<long double>;

}  // namespace coterie
