// What the rules whose operands step through memory unevenly (train_kernels/strided_loops.h) share: broadcasting, and
// moving elements of either type.
#pragma once

#include <vector>

#include "device_sdk/runtime/op_rule.h"
#include "device_sdk/runtime/program.h"
#include "train_kernels/strided_loops.h"

namespace coterie::ops {

inline std::vector<size_t> sizes_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

// The shape of the result of operands that broadcast as in NumPy: aligned at the last dimension, sizes equal or 1.
Result<Shape> broadcast_shape(std::initializer_list<Shape> operands);

// Elements of x, from `x_offset` on, to y, from `y_offset` on: operand 0 of the loops is x, 1 is y.
struct Copy {
  kernels::StridedLoops<2> loops;
  ptrdiff_t x_offset = 0, y_offset = 0;

  // From y to x.
  Copy reversed() const;
};

// Buffers: x, y.
extern const StepKindOf<Copy> kCopyStep;

// Into a y of `count` elements of which the others are `value`. Buffers as of kCopyStep.
struct Bordered {
  Copy copy;
  size_t count;
  float value = 0;
};
extern const StepKindOf<Bordered> kBorderedStep;

// Several parts and the whole, which either all are copied into, or from. Buffers: the parts, then the whole; a part
// whose pointer is null is 0.
struct Parts {
  std::vector<Copy> copies;  // from each part into the whole
  size_t count;              // elements of the whole
};
extern const StepKindOf<Parts> kJoinStep;

}  // namespace coterie::ops
