// `--widths` of a demo: the widths that its devices train the model at, and which of them each takes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

// "1,0.5,0.25": shares of the channels in (0, 1], in millionths. invalid_argument; which order they have is for
// problems_of(training) to judge.
Result<std::vector<uint32_t>> parse_widths(std::string_view text);

// The class of device i, from 0, as if devices of all kinds came in turn: of demos and simulations.
inline uint32_t width_class_of(uint32_t device, size_t classes) { return static_cast<uint32_t>(device % classes); }

}  // namespace coterie
