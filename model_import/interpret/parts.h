// Tensors put together along an axis, and taken apart.
#pragma once

#include <vector>

#include "model_import/interpret/array.h"

namespace coterie::model_import {

// One after the other; a negative axis counts from the end. `parts` are tensors, at least one, of equal shape but for
// the axis. Errors: malformed, too_large.
Result<Array> concatenated(const std::vector<const Array*>& parts, int64_t axis);

// The same along an axis that none of them has. Errors: the same.
Result<Array> stacked(const std::vector<Array>& parts, int64_t axis);

// The part that begins at `start` of an axis and has `count` positions, `step` apart; all of them are there.
Result<Array> part_of(const Array& x, size_t axis, int64_t start, int64_t count, int64_t step);

// What is at a position of an axis, without that axis.
Result<Array> at_position(const Array& x, size_t axis, int64_t position);

}  // namespace coterie::model_import
