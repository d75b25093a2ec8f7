// The series of Mironov, Talwar and Zhang 2019 (arXiv 1908.10530, section 3.3) for the Renyi divergence of
// Poisson-sampled Gaussian noise at an order that is not whole, as published and with its signs left out: an oracle
// that shares nothing with secure/dp/account, which integrates.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace coterie {

inline double published_log_cdf(double x) {
  if (x > -25) return std::log(0.5 * std::erfc(-x / std::sqrt(2.0)));
  return -x * x / 2 - 0.5 * std::log(2 * M_PI) - std::log(-x) + std::log1p(-1 / (x * x) + 3 / std::pow(x, 4));
}

// log of |order over i|; is_negative: its sign.
inline double published_log_choose(double order, int i, bool& is_negative) {
  double log_value = 0;
  is_negative = false;
  for (int k = 0; k < i; ++k) {
    log_value += std::log(std::abs(order - k) / (k + 1));
    if (order < k) is_negative = !is_negative;
  }
  return log_value;
}

inline double published_rdp(double q, double sigma, double order, bool has_signs = false) {
  struct Term {
    double log_value;
    bool is_negative;
  };
  std::vector<Term> terms;
  const double z0 = sigma * sigma * std::log(1 / q - 1) + 0.5;
  const bool is_whole = order == std::floor(order);
  double top = 0;
  for (int i = 0; i < (is_whole ? static_cast<int>(order) + 1 : 1000); ++i) {
    bool is_negative = false;
    const double choose = published_log_choose(order, i, is_negative);
    const double j = order - i;
    double log_low = choose + i * std::log(q) + j * std::log1p(-q) + (1.0 * i * i - i) / (2 * sigma * sigma);
    double log_high = choose + j * std::log(q) + i * std::log1p(-q) + (j * j - j) / (2 * sigma * sigma);
    if (is_whole) {
      log_high = -INFINITY;  // the binomial sum over the whole line
    } else {
      log_low += published_log_cdf((z0 - i) / sigma);
      log_high += published_log_cdf((j - z0) / sigma);
    }
    terms.push_back({log_low, has_signs && is_negative});
    terms.push_back({log_high, has_signs && is_negative});
    top = std::max({top, log_low, log_high});
    if (i > order + 1 && std::max(log_low, log_high) < top - 40) break;
  }
  double sum = 0;
  std::ranges::sort(terms, {}, &Term::log_value);
  for (const Term& term : terms) sum += (term.is_negative ? -1 : 1) * std::exp(term.log_value - top);
  return (top + std::log(sum)) / (order - 1);
}

}  // namespace coterie
