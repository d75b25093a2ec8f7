#include "tools/demo/chart_scale.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace coterie {
namespace {

double round_step(double range, int count) {
  const double raw = range / std::max(1, count);
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::vector<double> round_ticks(double low, double high, int count) {
  if (!(high > low) || !std::isfinite(high - low)) return {low};
  const double step = round_step(high - low, count);
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  for (double i = first; i <= last; ++i) ticks.push_back(i * step + 0.0);  // + 0.0: no "-0"
  return ticks;
}

double round_up_to_tick(double high, int count) {
  if (!std::isfinite(high) || high <= 0) return 1;
  const double step = round_step(high, count);
  return std::ceil(high / step - 1e-9) * step;
}

std::string tick_text(double value, double step) {
  int decimals = 0;
  for (double scaled = step; decimals < 9 && std::abs(scaled - std::round(scaled)) > 1e-6; scaled *= 10) ++decimals;
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::vector<double> spread(std::vector<double> places, double gap, double low, double high) {
  std::vector<size_t> order(places.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return places[a] < places[b]; });
  double floor = low;
  for (const size_t i : order) {
    places[i] = std::max(places[i], floor);
    floor = places[i] + gap;
  }
  double ceiling = high;
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    places[*i] = std::min(places[*i], ceiling);
    ceiling = places[*i] - gap;
  }
  return places;
}

}  // namespace coterie
