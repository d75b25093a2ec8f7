// ElementSlice: which elements of a tensor a slice in NumPy's notation means: a[0, :3, ..., -1]. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "proto/messages/model.h"

namespace coterie {

struct AxisSlice {
  int64_t start = 0, step = 1;
  uint64_t count = 1;       // elements along the axis
  bool is_dropped = false;  // an index: the axis is not in the result's shape

  uint64_t at(uint64_t i) const { return static_cast<uint64_t>(start + static_cast<int64_t>(i) * step); }
};

struct ElementSlice {
  std::vector<AxisSlice> axes;  // one for each of the tensor's

  Shape shape() const;  // of what is chosen; empty: one number
  uint64_t count() const;
};

// `text`: what stands between the brackets; empty: everything. Indices and slices (start:stop:step) count from the end
// where they are negative, slices are cut at the ends, `...` stands for the axes that are not named: basic indexing of
// NumPy (https://numpy.org/doc/stable/user/basics.indexing.html), without newaxis. Errors: invalid_argument names the
// axis, and what it has.
Result<ElementSlice> parse_slice(std::string_view text, const Shape& shape);

// The elements of the slice, in order, as indices into the tensor's values; the last axis is the innermost.
template <typename Visit>
void for_each_element(const ElementSlice& slice, const Shape& shape, const Visit& visit) {
  const uint64_t count = slice.count();
  std::vector<uint64_t> at(shape.size());
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t element = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) {
      element = element * static_cast<uint64_t>(shape[axis]) + slice.axes[axis].at(at[axis]);
    }
    if (!visit(element)) return;
    for (size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < slice.axes[axis].count) break;
      at[axis] = 0;
    }
  }
}

}  // namespace coterie
