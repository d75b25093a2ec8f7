#include "model_import/fold/reshape.h"

#include <algorithm>

#include "model_import/graph/node_error.h"
#include "model_import/graph/order.h"
#include "proto/codec/limits.h"

namespace coterie::model_import {
namespace {

constexpr int64_t kElementsMax = int64_t{1} << 48;  // of an activation of one example: products stay far from overflow

// A number of elements: value times the batch to that power.
struct Count {
  int64_t value = 1;
  int batches = 0;

  bool times(int64_t dimension) {
    batches += dimension < 0;
    return !__builtin_mul_overflow(value, dimension < 0 ? -dimension : dimension, &value) && value <= kElementsMax;
  }
  friend bool operator==(const Count&, const Count&) = default;
};

Error changes_size(const Node& node) {
  return Error(ErrorCode::malformed, node.what() + ": the number of elements changes, or does so for some batch size");
}

// Which dimension of `to` (numbers for the exported batch) holds the batch of `from`.
std::optional<size_t> batch_dimension(const Shape& from, const std::vector<int64_t>& to, int64_t batch) {
  size_t at = 0;
  while (at < from.size() && from[at] > 0) ++at;
  int64_t before = 1;
  for (size_t i = 0; i < at; ++i) before *= from[i];
  const int64_t size = -from[at] * batch;
  std::optional<size_t> best;
  int best_rank = 3;
  int64_t begin = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    const bool is_inside = begin >= before && begin < before * std::max<int64_t>(size, 2) && to[i] % batch == 0;
    const int rank = to[i] == batch ? 0 : begin == before && to[i] == size ? 1 : 2;
    if (is_inside && rank < best_rank) {
      best = i;
      best_rank = rank;
    }
    begin *= to[i];
  }
  return best;
}

}  // namespace

Result<std::vector<ReshapeGroup>> reshape_groups(const Node& node, const Shape& from, const Shape& to) {
  std::vector<ReshapeGroup> groups;
  uint32_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    ReshapeGroup group{i, i, j, j};
    Count left, right;
    // Until both sides have as many elements; the side with fewer takes its next dimension.
    do {
      const bool left_is_behind =
          left.batches < right.batches || (left.batches == right.batches && left.value < right.value);
      const bool take_left = i < from.size() && (j == to.size() || left == right || left_is_behind);
      if (!take_left && j == to.size()) return changes_size(node);
      if (!(take_left ? left.times(from[i]) : right.times(to[j]))) return changes_size(node);
      ++(take_left ? i : j);
    } while (!(left == right) && (i < from.size() || j < to.size()));
    if (!(left == right)) return changes_size(node);
    group.from_end = i;
    group.to_end = j;
    groups.push_back(group);
  }
  return groups;
}

ReshapeOrders keep_lying(std::vector<ReshapeGroup> groups, const std::vector<uint32_t>& lying, const Shape& from) {
  const auto place = [&](const ReshapeGroup& group) {
    for (size_t i = 0; i < lying.size(); ++i) {
      if (lying[i] >= group.from_begin && lying[i] < group.from_end && from[lying[i]] != 1) return i;
    }
    return lying.size();  // dimensions of size 1 may be anywhere
  };
  std::ranges::stable_sort(groups, {}, place);
  ReshapeOrders orders;
  for (const ReshapeGroup& group : groups) {
    for (uint32_t i = group.from_begin; i < group.from_end; ++i) orders.from.push_back(i);
    for (uint32_t i = group.to_begin; i < group.to_end; ++i) orders.to.push_back(i);
  }
  return orders;
}

Result<Shape> reshaped(const Node& node, const Shape& from, const std::vector<Integer>& target,
                       int64_t exported_batch) {
  const bool has_batch = std::ranges::any_of(from, [](int64_t d) { return d < 0; });
  const bool names_batch = std::ranges::any_of(target, [](const Integer& d) { return d.per_batch; });
  const bool is_static = has_batch && !names_batch && exported_batch > 0;
  Shape numbers = from;
  if (is_static) numbers = at_batch(from, static_cast<uint64_t>(exported_batch));
  COT_ASSIGN(const std::vector<Integer> resolved, reshape_target(node, numbers, target));
  Shape to;
  for (const Integer& dimension : resolved) {
    if (dimension.value < 1 || dimension.value > limits::kModelDimensionMax) {
      return Error(ErrorCode::malformed, node.what() + ": a dimension is " + std::to_string(dimension.value));
    }
    to.push_back(dimension.per_batch ? -dimension.value : dimension.value);
  }
  if (is_static) {
    COT_TRY(reshape_groups(node, numbers, to));
    const std::optional<size_t> at = batch_dimension(from, to, exported_batch);
    if (!at)
      return unsupported(node, "which dimension is the batch cannot be told: export the model with dynamic_axes");
    to[*at] /= -exported_batch;
  }
  COT_TRY(reshape_groups(node, from, to));
  return to;
}

}  // namespace coterie::model_import
