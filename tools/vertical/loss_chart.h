// The losses of a network's epochs as an SVG file. Pure.
#pragma once

#include <string>
#include <vector>

namespace coterie {

// `losses`: one an epoch, at least one.
std::string draw_losses(const std::vector<double>& losses);

}  // namespace coterie
