#include "tools/model_report/figure_text.h"

#include <cmath>

#include "tools/cli/table.h"

namespace coterie {

std::string share_text(const SeenShare& share) {
  if (share.of == 0) return "-";
  const ShareInterval interval = wilson_interval(share);
  return format_percent(*share.value()) + " (" + format_fixed(100 * interval.low, 1) + " to " +
         format_fixed(100 * interval.high, 1) + ")";
}

std::string mean_text(const MeanInterval& mean) {
  if (!std::isfinite(mean.mean) || !mean.half_width) return format_digits(mean.mean);
  return format_digits(mean.mean) + " (" + format_digits(mean.mean - *mean.half_width) + " to " +
         format_digits(mean.mean + *mean.half_width) + ")";
}

std::string measure_text(double value, const MeasureInterval* interval) {
  if (!std::isfinite(value) || !interval) return format_digits(value);
  return format_digits(value) + " (" + format_digits(interval->low) + " to " + format_digits(interval->high) + ")";
}

std::string area_text(const RankArea& area) {
  return format_fixed(area.area, 3) + " (" + format_fixed(area.low, 3) + " to " + format_fixed(area.high, 3) + ")";
}

std::string points_text(double difference, const ShareInterval& interval) {
  return format_fixed(100 * difference, 1) + " points (" + format_fixed(100 * interval.low, 1) + " to " +
         format_fixed(100 * interval.high, 1) + ")";
}

std::string gap_text(GapKind kind, double gap) {
  return kind == GapKind::error ? format_digits(gap) : format_fixed(100 * gap, 1) + " points";
}

}  // namespace coterie
