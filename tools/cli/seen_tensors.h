// The tensors of one step of a program, with their ranges, as a table of at most 80 columns.
#pragma once

#include <string>
#include <vector>

#include "tools/watch/first_non_finite.h"

namespace coterie {

std::string seen_table(const std::vector<SeenTensor>& tensors);

}  // namespace coterie
