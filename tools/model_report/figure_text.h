// Figures of a report as people read them: on the page, and in the terminal.
#pragma once

#include <string>

#include "tools/compare/rank_area.h"
#include "tools/model_report/group_fairness.h"
#include "tools/model_report/measure_intervals.h"

namespace coterie {

// "85.0 % (80.1 to 88.9)"; "-" of nothing.
std::string share_text(const SeenShare& share);
// "0.412 (0.390 to 0.434)"; without an interval the mean alone, "-" where it is not finite.
std::string mean_text(const MeanInterval& mean);
// The same of a figure and its interval; null: it has none.
std::string measure_text(double value, const MeasureInterval* interval);
std::string area_text(const RankArea& area);
// "12.3 points (10.1 to 14.4)", of a share less another.
std::string points_text(double difference, const ShareInterval& interval);
// A gap of shares in points, "12.3 points"; of errors in their unit.
std::string gap_text(GapKind kind, double gap);

}  // namespace coterie
