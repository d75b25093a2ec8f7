// A roofline in a terminal and as JSON. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/roofline/roofline.h"

namespace coterie {

// Peaks, kinds and ops, in lines of at most 80 columns.
std::string roofline_text(const std::vector<RoofedOp>& ops, const MachinePeaks& peaks);
nlohmann::json roofline_json(const std::vector<RoofedOp>& ops, const MachinePeaks& peaks);

}  // namespace coterie
