#include "secure/dp/account/tilted_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "base/assert.h"
#include "secure/dp/account/fourier.h"
#include "secure/dp/account/log_math.h"

namespace coterie {
namespace {

// The window reaches from the tilted mean this far down and up, in standard deviations and in 1 / tilt, whichever is
// more. What lies below falls back into its upper part, where the tilt makes it count next to nothing. So little of
// what lies above may fall back to the mean that it can be lost; more makes the window twice as large.
constexpr double kReachDown = 2.5;
constexpr double kReachUp = 5;
constexpr double kReachOfTilt = 12;
constexpr double kFallsBack = 1e-4;   // of the tilted sum
constexpr double kLostShare = 1e-5;   // of delta
constexpr double kPointsMin = 16384;  // of the window: costs nothing, and holds the whole of small sums
constexpr double kLogNegligible = -80;

// The error of one operation.
template <typename Real>
constexpr Real kRounding = std::numeric_limits<Real>::epsilon() / 2;

// The tilted sum in a window of the grid, normalized: value[i] is its mass at (first + i) x step.
struct Window {
  int64_t first = 0;
  std::vector<double> value;
  double error = 0;    // of all values together, at most
  double lost = 0;     // mass above, not tilted
  double wrapped = 0;  // of the tilted sum, what may have come back from above: it counts twice at most
};

// e^(tilt x loss(i) - shift) for i from 0 on, by products: one exp for each kRun of them.
class TiltFactors {
 public:
  TiltFactors(const LossPmf& pmf, double tilt, double shift)
      : pmf_(pmf), tilt_(tilt), shift_(shift), ratio_(std::exp(tilt * pmf.step)) {}

  double next() {
    factor_ = at_ % kRun == 0 ? std::exp(tilt_ * pmf_.loss(at_) - shift_) : factor_ * ratio_;
    ++at_;
    return factor_;
  }

 private:
  static constexpr size_t kRun = 32;  // so many roundings of 2^-53 at most

  const LossPmf& pmf_;
  double tilt_, shift_, ratio_;
  double factor_ = 0;
  size_t at_ = 0;
};

Cumulant cumulant_of(const LossPmf& pmf, double tilt) {
  size_t last = pmf.mass.size() - 1;
  while (last > 0 && pmf.mass[last] <= 0) --last;
  const double top = tilt * pmf.loss(last);  // no factor is above 1, and the last not below
  TiltFactors factors(pmf, tilt, top);
  double sum = 0;
  double first = 0;
  double second = 0;
  for (size_t i = 0; i <= last; ++i) {
    const double weight = pmf.mass[i] * factors.next();
    const double distance = static_cast<double>(last - i);  // from the top, in steps
    sum += weight;
    first += weight * distance;
    second += weight * distance * distance;
  }
  const double mean = first / sum;
  const double variance = std::max(0.0, second / sum - mean * mean);
  return {top + std::log(sum), pmf.loss(last) - mean * pmf.step, variance * pmf.step * pmf.step};
}

std::vector<double> tilted(const LossPmf& pmf, double tilt) {
  TiltFactors factors(pmf, tilt, cumulant_of(pmf, tilt).value);
  std::vector<double> values(pmf.mass.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double factor = factors.next();  // beyond the last mass it may be infinite
    values[i] = pmf.mass[i] > 0 ? pmf.mass[i] * factor : 0;
  }
  return values;
}

// Logarithms of what lies at least that high, at most: Chernoff's bound, the best of some tilts.
struct TailBounds {
  double plain = 0;   // P(sum >= from)
  double tilted = 0;  // of the tilted sum, beyond `far`
};

TailBounds tails_above(std::span<const RepeatedPmf> parts, double from, double far, double tilt, double deviation,
                       const TailBounds& enough) {
  const double at_tilt = cumulant(parts, tilt).value;
  TailBounds best;
  for (double more = 2; more > 0.1 && (best.plain > enough.plain || best.tilted > enough.tilted); more /= 2) {
    const double t = tilt + more / deviation;
    const double value = cumulant(parts, t).value;
    best.plain = std::min(best.plain, value - t * from);
    best.tilted = std::min(best.tilted, value - at_tilt - (t - tilt) * far);
  }
  return best;
}

// A stretch of the grid, and what Window says of the mass above it.
struct Place {
  int64_t first = 0;
  size_t size = 0;
  double lost = 0;
  double wrapped = 0;
};

// Where the sum is wanted: all of it if that is not much, else around the tilted mean.
Place place_of(std::span<const RepeatedPmf> parts, double tilt, double delta, size_t points_max) {
  const Cumulant at_tilt = cumulant(parts, tilt);
  const double step = parts[0].pmf.step;
  const double deviation = std::max(step, std::sqrt(at_tilt.variance));
  double lowest = 0;
  double points = 1;
  for (const RepeatedPmf& part : parts) {
    lowest += part.count * static_cast<double>(part.pmf.first);
    points += part.count * static_cast<double>(part.pmf.mass.size() - 1);
  }
  const double down = std::max(kReachDown * deviation, kReachOfTilt / tilt);
  const double up = std::max(kReachUp * deviation, kReachOfTilt / tilt);
  const double wanted = std::min((down + up) / step, static_cast<double>(points_max));
  const TailBounds enough = {std::log(kLostShare * delta), std::log(kFallsBack)};
  Place place;
  for (place.size = std::bit_ceil(static_cast<size_t>(std::max(wanted, kPointsMin)));; place.size *= 2) {
    if (points <= static_cast<double>(place.size)) return {static_cast<int64_t>(lowest), place.size, 0, 0};
    const double width = static_cast<double>(place.size) * step;
    // What is more than wanted, half below: at the greatest tilt epsilon may lie further down.
    const double spare = static_cast<double>(place.size) - wanted;
    place.first = static_cast<int64_t>(std::floor((at_tilt.mean - down) / step - spare / 2));
    const double end = static_cast<double>(place.first) * step + width;
    const TailBounds above = tails_above(parts, end, at_tilt.mean + width, tilt, deviation, enough);
    place.lost = std::exp(above.plain);
    place.wrapped = std::exp(above.tilted);
    const bool is_enough = above.plain <= enough.plain && above.tilted <= enough.tilted;
    if (is_enough || place.size >= points_max) return place;
  }
}

int64_t floor_mod(int64_t value, int64_t modulus) {
  const int64_t rest = value % modulus;
  return rest < 0 ? rest + modulus : rest;
}

// The spectrum of the tilted sum of the parts so far, in logarithms, as its powers are taken.
template <typename Real>
struct LogSpectrum {
  std::vector<Real> magnitude;
  std::vector<Real> angle;
  std::vector<Real> upper;  // what the magnitude may be, given the errors of the transforms and the powers

  explicit LogSpectrum(size_t count) : magnitude(count), angle(count), upper(count) {}
  bool is_negligible(size_t k) const { return upper[k] < kLogNegligible; }
};

// The error of a transform of a window, over the sum of the absolute values that go in.
template <typename Real>
Real transform_error(size_t size) {
  return kFourierErrorFactor * std::log2(static_cast<Real>(size)) * kRounding<Real>;
}

// `values` and `spectrum`: room to work.
template <typename Real>
void add_part(const RepeatedPmf& part, double tilt, const RealFourier<Real>& fourier, std::vector<Real>& values,
              std::vector<std::complex<Real>>& spectrum, LogSpectrum<Real>& sum) {
  const auto size = static_cast<int64_t>(fourier.size());
  const std::vector<double> one = tilted(part.pmf, tilt);
  std::ranges::fill(values, Real(0));
  for (size_t i = 0; i < one.size(); ++i) {
    values[static_cast<size_t>(floor_mod(part.pmf.first + static_cast<int64_t>(i), size))] += one[i];
  }
  fourier.forward(values, spectrum);
  const Real error = transform_error<Real>(fourier.size());
  const auto count = static_cast<Real>(part.count);
  for (size_t k = 0; k < spectrum.size(); ++k) {
    if (sum.is_negligible(k)) continue;
    const Real magnitude = std::sqrt(std::norm(spectrum[k]));
    sum.upper[k] += count * (std::log(magnitude + error) + 64 * kRounding<Real>);
    if (sum.is_negligible(k)) continue;
    sum.magnitude[k] += magnitude > 0 ? count * std::log(magnitude) : -std::numeric_limits<Real>::infinity();
    sum.angle[k] += count * std::arg(spectrum[k]);
  }
}

template <typename Real>
Window convolve(std::span<const RepeatedPmf> parts, double tilt, const Place& place) {
  using Complex = std::complex<Real>;
  const RealFourier<Real> fourier(place.size);
  std::vector<Real> values(place.size);
  std::vector<Complex> spectrum(fourier.spectrum_size());
  LogSpectrum<Real> sum(spectrum.size());
  for (const RepeatedPmf& part : parts) add_part(part, tilt, fourier, values, spectrum, sum);
  Real squares = 0;   // of the errors of the spectrum, whose 2-norm bounds the sum of the errors of the window
  Real absolute = 0;  // of the spectrum, both mirror halves
  const Real negligible = std::exp(Real(kLogNegligible));
  for (size_t k = 0; k < spectrum.size(); ++k) {
    const bool is_negligible = sum.is_negligible(k);
    const Real magnitude = is_negligible ? 0 : std::exp(sum.magnitude[k]);
    spectrum[k] = is_negligible ? Complex() : std::polar(magnitude, sum.angle[k]);
    const Real error = is_negligible ? negligible : std::exp(std::min(sum.upper[k], Real(1))) - magnitude;
    absolute += 2 * magnitude;
    squares += 2 * error * error;
  }
  fourier.backward(spectrum, values);
  const auto size = static_cast<int64_t>(place.size);
  std::rotate(values.begin(), values.begin() + floor_mod(place.first, size), values.end());
  const Real error = std::sqrt(squares) + transform_error<Real>(place.size) * absolute;
  return {place.first, std::vector<double>(values.begin(), values.end()), static_cast<double>(error), place.lost,
          place.wrapped};
}

Window window_of(std::span<const RepeatedPmf> parts, double tilt, const Place& place, Precision precision) {
  return precision == Precision::extended ? convolve<long double>(parts, tilt, place)
                                          : convolve<double>(parts, tilt, place);
}

// The least tilt that is enough, within [kTiltMin, kTiltMax]. What is enough stays enough with more.
template <typename IsEnough>
double least_tilt(std::span<const RepeatedPmf> parts, IsEnough is_enough) {
  double low = kTiltMin;
  double high = kTiltMax;
  while (high > low * 1.001) {
    const double middle = std::sqrt(low * high);
    (is_enough(middle, cumulant(parts, middle)) ? high : low) = middle;
  }
  return low;
}

}  // namespace

Cumulant cumulant(std::span<const RepeatedPmf> parts, double tilt) {
  Cumulant sum;
  for (const RepeatedPmf& part : parts) {
    const Cumulant one = cumulant_of(part.pmf, tilt);
    sum.value += part.count * one.value;
    sum.mean += part.count * one.mean;
    sum.variance += part.count * one.variance;
  }
  return sum;
}

double best_tilt(std::span<const RepeatedPmf> parts, double delta) {
  // Least where t K'(t) - K(t) = log(1 / delta); the left side grows, its derivative being t K''(t).
  const double wanted = -std::log(delta);
  return least_tilt(parts, [wanted](double tilt, const Cumulant& at) { return tilt * at.mean - at.value >= wanted; });
}

double tilt_with_mean(std::span<const RepeatedPmf> parts, double mean) {
  return least_tilt(parts, [mean](double, const Cumulant& at) { return at.mean >= mean; });
}

SumEpsilon epsilon_of_sum(std::span<const RepeatedPmf> parts, double tilt, double delta, size_t points_max,
                          Precision precision) {
  COT_ASSERT(!parts.empty());
  const double step = parts[0].pmf.step;
  const Cumulant at_tilt = cumulant(parts, tilt);
  const bool is_one = parts.size() == 1 && parts[0].count == 1;
  const Window window = is_one ? Window{parts[0].pmf.first, tilted(parts[0].pmf, tilt), 0, 0, 0}
                               : window_of(parts, tilt, place_of(parts, tilt, delta, points_max), precision);
  double lost = window.lost;  // mass that may have any loss
  for (const RepeatedPmf& part : parts) lost += part.count * part.pmf.infinite;
  const auto loss_at = [&](size_t i) { return static_cast<double>(window.first + static_cast<int64_t>(i)) * step; };
  // delta(e) = sum over l > e of p(l) (1 - e^(e - l)), p(l) = tilted(l) e^(K - tilt l). An error of the tilted sum
  // counts most at the l where e^(-tilt (l - e)) (1 - e^(e - l)) is greatest, at most 1 / (tilt + 1).
  const double fall = std::exp(-step);
  double above = 0;       // sum of p(l)
  double discounted = 0;  // sum of p(l) e^(e - l)
  for (size_t i = window.value.size(); i-- > 0;) {
    const double loss = loss_at(i);
    const double untilt = std::exp(std::min(700.0, at_tilt.value - tilt * loss));
    const double charged = lost + window.error * untilt / (tilt + 1);
    const double spoiled = charged + window.wrapped * untilt / (tilt + 1);
    if (above - discounted + charged > delta) {
      if (charged >= delta || discounted <= 0) {
        return {i + 1 < window.value.size() ? std::max(0.0, loss + step) : kInfinity, spoiled};
      }
      const double inside = std::log((above + charged - delta) / discounted);
      return {std::max(0.0, loss + std::clamp(inside, 0.0, step)), spoiled};
    }
    if (loss < 0) return {0, spoiled};
    const double mass = std::max(0.0, window.value[i]) * untilt;
    above += mass;
    discounted = (discounted + mass) * fall;
  }
  return {std::max(0.0, loss_at(0)), lost};
}

}  // namespace coterie
