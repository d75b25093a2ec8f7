// Renyi differential privacy (Mironov 2017): the divergence at a list of orders, which adds up under composition.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace coterie {

// 1.1, 1.2 ... 10.9, 11 ... 63, 128, 256, 512, 1024: those of Google's dp_accounting 0.6, so that figures agree.
std::span<const double> default_orders();

// An epsilon and the order that gave it.
struct RdpEpsilon {
  double epsilon = 0;
  double order = 0;
};

class RdpCurve {
 public:
  // Zero at these orders: nothing released yet. Ascending, above 1.
  explicit RdpCurve(std::span<const double> orders = default_orders());

  std::span<const double> orders() const { return orders_; }
  std::span<const double> values() const { return values_; }  // infinity: this order says nothing

  // `count` times a release of these values, one an order; none is negative or NaN.
  void add(std::span<const double> values, double count);

  // The smallest epsilon that this curve proves at delta in (0, 1), by Proposition 12 of Canonne, Kamath and Steinke
  // 2020 (arXiv 2004.00010 v4), and 0 where the Kullback-Leibler divergence alone says so (delta <= sqrt(1 - e^-KL),
  // Bretagnolle and Huber). Infinity if every order is.
  RdpEpsilon epsilon(double delta) const;

 private:
  std::vector<double> orders_;
  std::vector<double> values_;
};

}  // namespace coterie
