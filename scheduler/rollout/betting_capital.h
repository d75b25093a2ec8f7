// BettingCapital: what somebody has who bets against "these values have a mean of at most `mean`", beginning with 1.
// Values are in [0, 1], each with a mean of at most `mean` given those before it; beyond that they may depend on each
// other and have any distributions. Pure.
//
// While the claim is true the capital is a supermartingale that begins with 1 and stays above 0. So it ever reaches
// 1 / alpha with a probability of at most alpha, however often and by whatever plan one looks (Ville 1939): a test that
// may be looked at after each value, and stopped at any.
//
// The capital is the mean of those of several gamblers. Each puts one share of what the claim allows on each value:
//   K_j <- K_j * (1 + share_j / mean * (value - mean))
// with shares from 0.95 down by factors of sqrt(2): no order of the values and no estimate of their spread is in it.
// Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (2024), section 4 (betting) and
// appendix B.9 (fixed grids).
#pragma once

#include <array>
#include <cstddef>

namespace coterie {

class BettingCapital {
 public:
  static constexpr size_t kGamblers = 14;
  using Logs = std::array<double, kGamblers>;  // of what each gambler has

  // `mean` is in (0, 1). `logs`: as an earlier capital of this mean had them; all have 1 at first.
  explicit BettingCapital(double mean, const Logs& logs = {});
  // `value` is in [0, 1]. It comes `times` times, 1 or more: the capital is a product, so that it does not matter when.
  void bet(double value, double times = 1);
  // The natural logarithm of the capital.
  double log() const;
  const Logs& logs() const { return logs_; }

 private:
  double mean_;
  Logs logs_;
};

}  // namespace coterie
