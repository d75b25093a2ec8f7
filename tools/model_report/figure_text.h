// Figures of a report as people read them: on the page, and in the terminal.
#pragma once

#include <string>

#include "tools/model_report/group_fairness.h"

namespace coterie {

// "85.0 % (80.1 to 88.9)"; "-" of nothing.
std::string share_text(const SeenShare& share);
// "0.412 (0.390 to 0.434)"; without an interval the mean alone, "-" where it is not finite.
std::string mean_text(const MeanInterval& mean);
// A gap of shares in points, "12.3 points"; of errors in their unit.
std::string gap_text(GapKind kind, double gap);

}  // namespace coterie
