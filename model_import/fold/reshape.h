// What a Reshape means for every batch size.
#pragma once

#include "model_import/fold/fold.h"

namespace coterie::model_import {

// The dimensions [from_begin, from_end) become [to_begin, to_end), with the same number of elements in the
// same order.
struct ReshapeGroup {
  uint32_t from_begin, from_end, to_begin, to_end;
};
// The smallest such groups. Errors: malformed (the number of elements differs).
Result<std::vector<ReshapeGroup>> reshape_groups(const Node& node, const Shape& from, const Shape& to);

// The orders in which the dimensions lie before and after, such that a value which lies in order `lying` is
// moved only within groups: the groups stay where they lie.
struct ReshapeOrders {
  std::vector<uint32_t> from, to;
};
ReshapeOrders keep_lying(std::vector<ReshapeGroup> groups, const std::vector<uint32_t>& lying, const Shape& from);

// The shape of Reshape's output. Where the numbers in `target` do not say which dimension is the batch, they
// are those of a model that was exported for `exported_batch` examples: the batch is then the dimension that
// begins at the same element as it did in `from` (of several, one of size
// exported_batch, then the one of the same size).
Result<Shape> reshaped(const Node& node, const Shape& from, const std::vector<Integer>& target, int64_t exported_batch);

}  // namespace coterie::model_import
