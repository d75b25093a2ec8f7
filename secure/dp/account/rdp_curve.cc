#include "secure/dp/account/rdp_curve.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "secure/dp/account/log_math.h"

namespace coterie {
namespace {

constexpr double kOrderMin = 1.01;  // below, log(1 - 1/a) / (a - 1) has lost its digits, and the bound is poor anyway

double epsilon_at(double order, double rdp, double delta) {
  // Bretagnolle and Huber: delta is at most sqrt(1 - e^-KL), so that epsilon 0 holds from there on. The last line is
  // Canonne, Kamath and Steinke 2020, proposition 12.
  if (delta * delta + std::expm1(-rdp) > 0) return 0;
  if (rdp == kInfinity || order < kOrderMin) return kInfinity;
  return std::max(0.0, rdp + std::log1p(-1 / order) - std::log(delta * order) / (order - 1));
}

}  // namespace

std::span<const double> default_orders() {
  static const std::vector<double> orders = [] {
    std::vector<double> all;
    for (int tenth = 1; tenth < 100; ++tenth) all.push_back(1 + tenth / 10.0);
    for (int whole = 11; whole < 64; ++whole) all.push_back(whole);
    all.insert(all.end(), {128, 256, 512, 1024});
    return all;
  }();
  return orders;
}

RdpCurve::RdpCurve(std::span<const double> orders)
    : orders_(orders.begin(), orders.end()), values_(orders.size(), 0.0) {
  for (const double order : orders_) COT_ASSERT(order > 1);
}

void RdpCurve::add(std::span<const double> values, double count) {
  COT_ASSERT(values.size() == values_.size());
  for (size_t i = 0; i < values.size(); ++i) {
    COT_ASSERT(values[i] >= 0);
    values_[i] += count * values[i];
  }
}

RdpEpsilon RdpCurve::epsilon(double delta) const {
  COT_ASSERT(delta > 0 && delta < 1);
  RdpEpsilon best{kInfinity, orders_.front()};
  for (size_t i = 0; i < orders_.size(); ++i) {
    const double epsilon = epsilon_at(orders_[i], values_[i], delta);
    if (epsilon < best.epsilon) best = {epsilon, orders_[i]};
  }
  return best;
}

}  // namespace coterie
