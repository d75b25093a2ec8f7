#include "fl_server/serving/shadow.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/assert.h"

namespace coterie {

ShadowComparison compare_answers(std::span<const float> shown, std::span<const float> shadow, uint64_t row_values) {
  COT_ASSERT(row_values >= 1 && shown.size() == shadow.size() && shown.size() % row_values == 0);
  ShadowComparison result{.rows = shown.size() / row_values};
  for (uint64_t row = 0; row < result.rows; ++row) {
    const std::span<const float> a = shown.subspan(row * row_values, row_values),
                                 b = shadow.subspan(row * row_values, row_values);
    const auto best_of = [](std::span<const float> values) {
      return std::ranges::max_element(values, [](float x, float y) { return x < y; }) - values.begin();
    };
    result.agreeing += best_of(a) == best_of(b);
    for (uint64_t i = 0; i < row_values; ++i) {
      const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
      result.difference_max = std::max(
          result.difference_max, std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity());
    }
  }
  return result;
}

}  // namespace coterie
