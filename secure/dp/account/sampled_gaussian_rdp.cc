#include "secure/dp/account/sampled_gaussian_rdp.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "base/assert.h"
#include "secure/dp/account/log_math.h"

namespace coterie {
namespace {

constexpr double kSigmas = 12;  // beyond, a normal density is below 1e-31 of its top

// log of the integral of exp(log_density(x)) over [low, high], by the trapezoid rule in steps of `step`.
template <typename LogDensity>
double log_integral(double low, double high, double step, LogDensity log_density) {
  double log_sum = -kInfinity;
  double sum = 0;  // of exp(... - log_top), so that one exp is enough for each point
  double log_top = -kInfinity;
  const auto count = static_cast<size_t>(std::ceil((high - low) / step));
  for (size_t i = 0; i <= count; ++i) {
    const double value = log_density(low + static_cast<double>(i) * step);
    if (value > log_top) {
      sum = log_top == -kInfinity ? 1 : sum * std::exp(log_top - value) + 1;
      log_top = value;
    } else {
      sum += std::exp(value - log_top);
    }
  }
  log_sum = log_top == -kInfinity ? -kInfinity : log_top + std::log(sum) + std::log(step);
  return log_sum;
}

double log_normal_density(double x, double sigma) {
  return -x * x / (2 * sigma * sigma) - std::log(sigma) - 0.5 * std::log(2 * std::numbers::pi);
}

// log(1 + e^x)
double log_one_plus(double log_x) { return log_add(0, log_x); }

// log((1 + u)^a - 1 - a u) for u > -1, a > 1: never negative inside.
double log_excess(double u, double a) {
  if (std::abs(u) * a < 1e-2) {  // five terms of the binomial series; the next is below 1e-13 of the first
    const double series = 1 + (a - 2) / 3 * u * (1 + (a - 3) / 4 * u * (1 + (a - 4) / 5 * u * (1 + (a - 5) / 6 * u)));
    return std::log(a * (a - 1) / 2) + 2 * std::log(std::abs(u)) + std::log(series);
  }
  const double log_power = a * std::log1p(u);
  if (log_power > 40) return log_power;  // 1 + a u is less than 1e-15 of it, and to leave it out is to round up
  return std::log(std::expm1(log_power) - a * u);
}

// log E (...)^order for a whole order: sum over i >= 2 of C(order, i) q^i (1-q)^(order-i) (exp((i^2-i)/(2 sigma^2)) -
// 1).
double log_moment_whole(double q, double sigma, size_t order) {
  double log_excess_sum = -kInfinity;
  for (size_t i = 2; i <= order; ++i) {
    const auto k = static_cast<double>(i);
    const double exponent = (k * k - k) / (2 * sigma * sigma);
    const double log_gain = exponent > 40 ? exponent : std::log(std::expm1(exponent));
    log_excess_sum = log_add(log_excess_sum, log_choose(order, i) + k * std::log(q) +
                                                 static_cast<double>(order - i) * std::log1p(-q) + log_gain);
  }
  return log_one_plus(log_excess_sum);
}

double log_moment_fractional(double q, double sigma, double order) {
  // The strip in which (1 + u)^order is analytic ends at Im x = pi sigma^2.
  const double step = std::min(sigma, sigma * sigma) / 4;
  const double log_excess_mean = log_integral(-kSigmas * sigma, order + kSigmas * sigma, step, [&](double x) {
    const double exponent = (2 * x - 1) / (2 * sigma * sigma);
    // Far out u is q e^exponent, beyond what a double holds.
    const double excess =
        exponent > 600 ? order * (std::log(q) + exponent) : log_excess(q * std::expm1(exponent), order);
    return log_normal_density(x, sigma) + excess;
  });
  return log_one_plus(log_excess_mean);
}

// The chord of a convex function of the order that is known at whole orders.
template <typename AtWhole>
double chord(double order, AtWhole at_whole) {
  const double low = std::floor(order);
  const double part = order - low;
  const double first = low < 2 ? 0 : at_whole(static_cast<size_t>(low));
  return part == 0 ? first : (1 - part) * first + part * at_whole(static_cast<size_t>(low) + 1);
}

// log E (r - 1)^power, r = exp((2x - 1) / (2 sigma^2)), x ~ N(0, sigma^2); power even. Entire: any step resolves it.
double log_even_moment(double sigma, size_t power) {
  const auto l = static_cast<double>(power);
  return log_integral(-(kSigmas + std::sqrt(l)) * sigma, l + (kSigmas + std::sqrt(l)) * sigma, sigma / 4,
                      [&](double x) {
                        const double exponent = (2 * x - 1) / (2 * sigma * sigma);
                        const double log_distance = exponent > 40 ? exponent : std::log(std::abs(std::expm1(exponent)));
                        return log_normal_density(x, sigma) + l * log_distance;
                      });
}

class WithoutReplacement {
 public:
  WithoutReplacement(double rate, double sigma) : rate_(rate), sigma_(sigma) {}

  double log_moment(size_t order) {
    double sum = 0;  // log of 1
    for (size_t j = 2; j <= order; ++j) {
      const auto k = static_cast<double>(j);
      const double simple = std::numbers::ln2 + k * (k - 1) / (2 * sigma_ * sigma_);
      double term = simple;
      if (order <= kSharpOrderMax && sigma_ >= kSigmaOfIntegral) {
        const double sharp = 2 * std::numbers::ln2 + 0.5 * (moment(j / 2 * 2) + moment((j + 1) / 2 * 2));
        term = std::min(simple, sharp);
      }
      sum = log_add(sum, term + k * std::log(rate_) + log_choose(order, j));
    }
    return sum;
  }

 private:
  static constexpr size_t kSharpOrderMax = 256;

  double moment(size_t power) {
    const auto [at, is_new] = moments_.try_emplace(power, 0);
    if (is_new) at->second = power == 2 ? std::log(std::expm1(1 / (sigma_ * sigma_))) : log_even_moment(sigma_, power);
    return at->second;
  }

  double rate_, sigma_;
  std::map<size_t, double> moments_;
};

double unsampled(double order, double sigma) { return order / (2 * sigma * sigma); }

}  // namespace

std::vector<double> poisson_gaussian_rdp(double rate, double noise_multiplier, std::span<const double> orders) {
  COT_ASSERT(rate > 0 && rate <= 1 && noise_multiplier > 0);
  std::vector<double> values;
  for (const double order : orders) {
    COT_ASSERT(order > 1 && order <= kChooseMax);
    if (rate == 1) {
      values.push_back(unsampled(order, noise_multiplier));
      continue;
    }
    const auto at_whole = [&](size_t whole) { return log_moment_whole(rate, noise_multiplier, whole); };
    const bool integrates = order != std::floor(order) && noise_multiplier >= kSigmaOfIntegral;
    const double log_moment =
        integrates ? log_moment_fractional(rate, noise_multiplier, order) : chord(order, at_whole);
    values.push_back(std::min(log_moment / (order - 1), unsampled(order, noise_multiplier)));
  }
  return values;
}

std::vector<double> without_replacement_gaussian_rdp(double rate, double noise_multiplier,
                                                     std::span<const double> orders) {
  COT_ASSERT(rate > 0 && rate <= 1 && noise_multiplier > 0);
  WithoutReplacement sampled(rate, noise_multiplier);
  std::vector<double> values;
  for (const double order : orders) {
    COT_ASSERT(order > 1 && order <= kChooseMax);
    const double bound =
        rate == 1 ? kInfinity : chord(order, [&](size_t whole) { return sampled.log_moment(whole); }) / (order - 1);
    values.push_back(std::min(bound, unsampled(order, noise_multiplier)));
  }
  return values;
}

}  // namespace coterie
