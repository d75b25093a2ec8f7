// The widest vector of any target, in floats: what a plan that must not depend on the machine counts with.
#pragma once

#include <cstddef>

namespace coterie::kernels {

inline constexpr size_t kLanesMax = 16;

}  // namespace coterie::kernels
