// A roofline as an SVG file: FLOP/s over arithmetic intensity, both by powers of 10. Pure.
#pragma once

#include <string>
#include <vector>

#include "tools/roofline/roofline.h"

namespace coterie {

// A dot an op, larger where it takes more of the step; ops without operations are counted below. A slanted line a
// working set whose rate was measured.
std::string draw_roofline(const std::vector<RoofedOp>& ops, const MachinePeaks& peaks, const std::string& title);

}  // namespace coterie
