#include "secure/secagg/hypergeometric.h"

#include <algorithm>
#include <cmath>

namespace coterie::secagg {

LogFactorials::LogFactorials(uint32_t total) : values_(total + size_t{1}) {
  for (uint32_t i = 1; i <= total; ++i) values_[i] = values_[i - 1] + std::log(i);
}

double Hypergeometric::probability_of(uint32_t x) const {
  if (x > marked_ || x > drawn_ || total_ + x < marked_ + drawn_) return 0;
  // C(marked, x) C(total - marked, drawn - x) / C(total, drawn), in logarithms, as factorials of 10,000 fit no double.
  const LogFactorials& f = log_factorials_;
  const uint32_t unmarked = total_ - marked_, missed = drawn_ - x;
  return std::exp(f[marked_] - f[x] - f[marked_ - x] + f[unmarked] - f[missed] - f[unmarked - missed] + f[drawn_] +
                  f[total_ - drawn_] - f[total_]);
}

uint32_t Hypergeometric::least_seldom_exceeded(double probability) const {
  // Summed from the end of the tail, the smallest first: added to a large sum they would be lost.
  double tail = 0;
  uint32_t x = std::min(marked_, drawn_);
  for (; x > 0; --x) {
    tail += probability_of(x);  // now P[X >= x]
    if (tail >= probability) break;
  }
  return x;
}

uint32_t Hypergeometric::largest_seldom_missed(double probability) const {
  double tail = 0;
  for (uint32_t x = 0; x <= drawn_; ++x) {
    tail += probability_of(x);  // now P[X <= x]
    if (tail >= probability) return x;
  }
  return drawn_;
}

}  // namespace coterie::secagg
