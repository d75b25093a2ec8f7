// Scales of a chart: from values to places, and at which round numbers to put marks. Pure.
#pragma once

#include <string>
#include <vector>

namespace coterie {

struct Scale {
  double low = 0, high = 1;  // values
  double from = 0, to = 1;   // places; `from` may be greater than `to`

  double at(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

// About `count` multiples of 1, 2 or 5 times a power of ten in [low, high].
std::vector<double> round_ticks(double low, double high, int count);

// The smallest tick of about `count` steps that is at least `high`; 1 if `high` is not positive and finite.
double round_up_to_tick(double high, int count);

// With as many decimals as `step` needs: 0.25 -> "0.25", 10 -> "10".
std::string tick_text(double value, double step);

// Moves places apart until neighbours have at least `gap`, as little as possible, keeping their order and staying in
// [low, high] where that can be.
std::vector<double> spread(std::vector<double> places, double gap, double low, double high);

}  // namespace coterie
