// How long a step of a whole matrix is, so that it takes the learning rate of Adam's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace coterie {

// What an update whose singular values are about 1 is multiplied by: the root mean square of its values is 0.2 then, as
// AdamW's usually is. Liu et al., "Muon is Scalable for LLM Training", 2025, section 2.2.
inline double adam_step_length(size_t rows, size_t columns) {
  return 0.2 * std::sqrt(static_cast<double>(std::max(rows, columns)));
}

}  // namespace coterie
