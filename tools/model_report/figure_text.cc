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

std::string gap_text(GapKind kind, double gap) {
  return kind == GapKind::error ? format_digits(gap) : format_fixed(100 * gap, 1) + " points";
}

}  // namespace coterie
