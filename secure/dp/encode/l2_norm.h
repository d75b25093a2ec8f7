// The Euclidean norm of an update, and whether it is one: the first step of every encoding.
#pragma once

#include <span>

#include "base/result.h"

namespace coterie {

// sqrt(sum of values[i]^2): squares in double (exact), summed pairwise, in the same order on every machine; within a
// few parts in 2^50 of the truth. A value that is NaN or infinite is an error that names the first: an update that is
// not finite is refused, never mended.
Result<double> l2_norm(std::span<const float> values);

}  // namespace coterie
