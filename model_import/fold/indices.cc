// The ops that only move elements.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "model_import/fold/fold.h"
#include "model_import/graph/node_error.h"
#include "model_import/graph/order.h"
#include "proto/codec/limits.h"

namespace coterie::model_import {
namespace {

Result<const HostTensor*> operand(const Node& node, const Operands& operands, size_t i) {
  if (i < operands.size() && operands[i] != nullptr) return operands[i];
  return Error(ErrorCode::malformed, node.what() + ": its operand " + std::to_string(i) + " is missing");
}

HostTensor with_shape(const HostTensor& tensor, Shape shape) {
  HostTensor result = tensor;
  result.shape = std::move(shape);
  return result;
}

Shape shape_from(const std::vector<Integer>& dimensions) {
  Shape shape;
  for (const Integer& dimension : dimensions) shape.push_back(dimension.per_batch ? -dimension.value : dimension.value);
  return shape;
}

Result<HostTensor> fold_identity(const Node&, const Operands& operands, int64_t) { return *operands[0]; }

Result<HostTensor> fold_reshape(const Node& node, const Operands& operands, int64_t) {
  COT_ASSIGN(const HostTensor* target, operand(node, operands, 1));
  COT_ASSIGN(const std::vector<Integer> dimensions, reshape_target(node, operands[0]->shape, target->integers));
  Shape shape = shape_from(dimensions);
  uint64_t before = 1, after = 1;
  for (const int64_t d : operands[0]->shape) before *= static_cast<uint64_t>(d < 0 ? -d : d);
  for (const int64_t d : shape) {
    if (__builtin_mul_overflow(after, static_cast<uint64_t>(d < 0 ? -d : d), &after)) after = before + 1;
  }
  if (before != after) return Error(ErrorCode::malformed, node.what() + ": the number of elements changes");
  return with_shape(*operands[0], std::move(shape));
}

Result<HostTensor> fold_flatten(const Node& node, const Operands& operands, int64_t) {
  const Shape& from = operands[0]->shape;
  COT_ASSIGN(const uint64_t count, count_elements(node, from));
  const auto rank = static_cast<int64_t>(from.size());
  const int64_t given = node.integer("axis", 1), axis = given < 0 ? given + rank : given;  // up to the rank
  if (axis < 0 || axis > rank) return Error(ErrorCode::malformed, node.what() + ": its axis is out of range");
  const int64_t rows = std::accumulate(from.begin(), from.begin() + axis, int64_t{1}, std::multiplies<>());
  if (rows == 0) return unsupported(node, "a tensor without elements");
  return with_shape(*operands[0], {rows, static_cast<int64_t>(count) / rows});
}

Result<HostTensor> fold_squeeze(const Node& node, const Operands& operands, int64_t) {
  const Shape& from = operands[0]->shape;
  COT_ASSIGN(const std::vector<int64_t> axes, axes_of(node, operands, 1));
  std::vector<bool> goes(from.size());
  for (size_t i = 0; i < from.size(); ++i) goes[i] = axes.empty() && from[i] == 1;
  for (const int64_t axis : axes) {
    COT_ASSIGN(const uint32_t at, axis_in(node, axis, from.size()));
    if (from[at] != 1) return Error(ErrorCode::malformed, node.what() + ": squeezes a dimension that is not 1");
    goes[at] = true;
  }
  Shape shape;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!goes[i]) shape.push_back(from[i]);
  }
  return with_shape(*operands[0], std::move(shape));
}

Result<HostTensor> fold_unsqueeze(const Node& node, const Operands& operands, int64_t) {
  COT_ASSIGN(const std::vector<int64_t> axes, axes_of(node, operands, 1));
  const size_t rank = operands[0]->shape.size() + axes.size();
  if (rank > limits::kModelRankMax) return unsupported(node, "more than 8 dimensions");
  std::vector<bool> is_new(rank);
  for (const int64_t axis : axes) {
    COT_ASSIGN(const uint32_t at, axis_in(node, axis, rank));
    if (is_new[at]) return Error(ErrorCode::malformed, node.what() + ": an axis is there twice");
    is_new[at] = true;
  }
  Shape shape;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) shape.push_back(is_new[i] ? 1 : operands[0]->shape[next++]);
  return with_shape(*operands[0], std::move(shape));
}

Result<HostTensor> fold_transpose(const Node& node, const Operands& operands, int64_t) {
  const HostTensor& x = *operands[0];
  Order order;
  for (const int64_t axis : node.integers("perm")) {
    COT_ASSIGN(const uint32_t at, axis_in(node, axis, x.shape.size()));
    order.push_back(at);
  }
  if (order.empty()) {
    order = identity_order(x.shape.size());
    std::ranges::reverse(order);
  }
  Order sorted = order;
  std::ranges::sort(sorted);
  if (sorted != identity_order(x.shape.size()))
    return Error(ErrorCode::malformed, node.what() + ": perm is no permutation");
  if (x.is_uniform) return with_shape(x, permuted(x.shape, order));
  return take(x, permuted(x.shape, order), permuted_indices(x.shape, order));
}

Result<HostTensor> fold_gather(const Node& node, const Operands& operands, int64_t) {
  const HostTensor& x = *operands[0];
  COT_ASSIGN(const HostTensor* indices, operand(node, operands, 1));
  COT_ASSIGN(const std::vector<int64_t> rows, plain_integers(node, *indices));
  COT_ASSIGN(const uint32_t axis, axis_in(node, node.integer("axis", 0), x.shape.size()));
  Shape shape(x.shape.begin(), x.shape.begin() + axis);
  shape.insert(shape.end(), indices->shape.begin(), indices->shape.end());
  shape.insert(shape.end(), x.shape.begin() + axis + 1, x.shape.end());
  if (x.is_uniform && x.shape[axis] > 0) return with_shape(x, std::move(shape));
  COT_ASSIGN(const uint64_t count, count_elements(node, x.shape));
  COT_TRY(count_elements(node, shape));
  if (count == 0) return unsupported(node, "a tensor without elements");
  const auto size = static_cast<uint64_t>(x.shape[axis]);
  uint64_t inner = 1;
  for (size_t i = axis + 1; i < x.shape.size(); ++i) inner *= static_cast<uint64_t>(x.shape[i]);
  std::vector<uint64_t> sources;
  for (uint64_t outer = 0; outer < count / (inner * size); ++outer) {
    for (const int64_t row : rows) {
      COT_ASSIGN(const uint32_t at, axis_in(node, row, size));
      for (uint64_t i = 0; i < inner; ++i) sources.push_back((outer * size + at) * inner + i);
    }
  }
  return take(x, std::move(shape), sources);
}

Result<HostTensor> fold_concat(const Node& node, const Operands& operands, int64_t) {
  COT_ASSIGN(const uint32_t axis, axis_in(node, node.integer("axis", 0), operands[0]->shape.size()));
  HostTensor result;
  result.element = operands[0]->element;
  result.shape = operands[0]->shape;
  result.shape[axis] = 0;
  uint64_t outer = 1;
  for (size_t i = 0; i < axis; ++i) outer *= static_cast<uint64_t>(std::max<int64_t>(result.shape[i], 0));
  for (const HostTensor* part : operands) {
    if (part == nullptr || part->is_uniform || part->element != result.element ||
        part->shape.size() != result.shape.size()) {
      return unsupported(node, "joins constants of different kinds");
    }
    for (size_t i = 0; i < part->shape.size(); ++i) {
      if (i != axis && part->shape[i] != result.shape[i])
        return Error(ErrorCode::malformed, node.what() + ": shapes differ");
    }
    result.shape[axis] += part->shape[axis];
  }
  for (uint64_t row = 0; row < outer; ++row) {
    for (const HostTensor* part : operands) {
      const uint64_t length = part->stored() / outer;
      const auto from = static_cast<std::ptrdiff_t>(row * length), to = static_cast<std::ptrdiff_t>((row + 1) * length);
      if (result.element == Element::real) {
        result.reals.insert(result.reals.end(), part->reals.begin() + from, part->reals.begin() + to);
      } else {
        result.integers.insert(result.integers.end(), part->integers.begin() + from, part->integers.begin() + to);
      }
    }
  }
  return result;
}

Result<HostTensor> fold_slice(const Node& node, const Operands& operands, int64_t) {
  HostTensor result = *operands[0];
  COT_ASSIGN(const HostTensor* start_tensor, operand(node, operands, 1));
  COT_ASSIGN(const HostTensor* end_tensor, operand(node, operands, 2));
  COT_ASSIGN(const std::vector<int64_t> starts, plain_integers(node, *start_tensor));
  COT_ASSIGN(const std::vector<int64_t> ends, plain_integers(node, *end_tensor));
  COT_ASSIGN(std::vector<int64_t> axes, axes_of(node, operands, 3));
  std::vector<int64_t> steps(starts.size(), 1);
  if (operands.size() > 4 && operands[4] != nullptr) {
    COT_ASSIGN(steps, plain_integers(node, *operands[4]));
  }
  if (axes.empty()) {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return Error(ErrorCode::malformed, node.what() + ": its lists differ in length");
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    COT_ASSIGN(const uint32_t axis, axis_in(node, axes[i], result.shape.size()));
    if (result.shape[axis] < 0) return unsupported(node, "cuts a part out of the batch");
    COT_ASSIGN(const SliceRange range, slice_range(node, result.shape[axis], starts[i], ends[i], steps[i]));
    if (result.is_uniform) {
      if (range.count < 1) return unsupported(node, "nothing is left of a dimension");
      result.shape[axis] = range.count;
      continue;
    }
    std::vector<int64_t> rows;
    for (int64_t k = 0; k < range.count; ++k) rows.push_back(range.start + k * range.step);
    const HostTensor row_tensor = [&] {
      std::vector<Integer> integers;
      for (const int64_t row : rows) integers.push_back({row, false});
      return host_integers(std::move(integers));
    }();
    Node gather{.op = "Gather", .name = node.name, .inputs = {}, .outputs = node.outputs, .attributes = {}};
    gather.attributes["axis"] = static_cast<int64_t>(axis);
    COT_ASSIGN(result, fold_gather(gather, {&result, &row_tensor}, 0));
  }
  return result;
}

bool is_one_value(const HostTensor& tensor) {
  return std::ranges::all_of(tensor.reals, [&](float v) { return v == tensor.reals[0]; }) &&
         std::ranges::all_of(tensor.integers, [&](const Integer& v) { return v == tensor.integers[0]; });
}

Result<HostTensor> fold_expand(const Node& node, const Operands& operands, int64_t) {
  COT_ASSIGN(const HostTensor* target, operand(node, operands, 1));
  COT_ASSIGN(Shape shape, broadcast(node, operands[0]->shape, shape_from(target->integers)));
  if (std::ranges::any_of(shape, [](int64_t d) { return d < 0; }) && is_one_value(*operands[0])) {
    HostTensor result = with_shape(*operands[0], std::move(shape));
    result.is_uniform = true;
    result.reals.resize(std::min<size_t>(1, result.reals.size()));
    result.integers.resize(std::min<size_t>(1, result.integers.size()));
    return result;
  }
  COT_TRY(count_elements(node, shape));
  COT_TRY(count_elements(node, operands[0]->shape));
  if (operands[0]->is_uniform) return with_shape(*operands[0], std::move(shape));
  return take(*operands[0], shape, broadcast_indices(operands[0]->shape, shape));
}

Result<HostTensor> fold_constant_of_shape(const Node& node, const Operands& operands, int64_t) {
  HostTensor result;
  result.reals = {0};
  if (const auto found = node.attributes.find("value"); found != node.attributes.end()) {
    const auto* value = std::get_if<HostTensor>(&found->second);
    if (value == nullptr || value->stored() != 1)
      return Error(ErrorCode::malformed, node.what() + ": its value must be one number");
    result = *value;
  }
  if (operands[0]->element == Element::real) return Error(ErrorCode::malformed, node.what() + ": a shape of floats");
  const Shape shape = shape_from(operands[0]->integers);
  if (std::ranges::any_of(operands[0]->integers, [](const Integer& i) { return i.value < 0; })) {
    return Error(ErrorCode::malformed, node.what() + ": a negative dimension");
  }
  if (shape.size() > limits::kModelRankMax) return unsupported(node, "more than 8 dimensions");
  if (std::ranges::any_of(shape, [](int64_t d) { return d < 0; })) {
    result.shape = shape;
    result.is_uniform = true;
    return result;
  }
  COT_ASSIGN(const uint64_t count, count_elements(node, shape));
  return take(result, shape, std::vector<uint64_t>(count, 0));
}

Result<HostTensor> fold_trilu(const Node& node, const Operands& operands, int64_t) {
  HostTensor result = *operands[0];
  COT_ASSIGN(const uint64_t count, count_elements(node, result.shape));
  if (result.shape.size() < 2 || result.is_uniform || count == 0) return unsupported(node, "needs a matrix");
  int64_t diagonal = 0;
  if (operands.size() > 1 && operands[1] != nullptr) {
    COT_ASSIGN(const std::vector<int64_t> numbers, plain_integers(node, *operands[1]));
    if (numbers.size() == 1) diagonal = numbers[0];
  }
  const bool is_upper = node.integer("upper", 1) != 0;
  const int64_t rows = result.shape[result.shape.size() - 2], columns = result.shape.back();
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t column = static_cast<int64_t>(i) % columns, row = static_cast<int64_t>(i) / columns % rows;
    if (is_upper ? column - row >= diagonal : column - row <= diagonal) continue;
    if (result.element == Element::real) result.reals[i] = 0;
    else result.integers[i] = {};
  }
  return result;
}

}  // namespace

FoldRule index_rule(const std::string& op) {
  static const std::map<std::string, FoldRule> rules = {
      {"Identity", fold_identity},
      {"Reshape", fold_reshape},
      {"Flatten", fold_flatten},
      {"Squeeze", fold_squeeze},
      {"Unsqueeze", fold_unsqueeze},
      {"Transpose", fold_transpose},
      {"Gather", fold_gather},
      {"Concat", fold_concat},
      {"Slice", fold_slice},
      {"Expand", fold_expand},
      {"ConstantOfShape", fold_constant_of_shape},
      {"Trilu", fold_trilu},
  };
  const auto found = rules.find(op);
  return found == rules.end() ? nullptr : found->second;
}

Result<SliceRange> slice_range(const Node& node, int64_t size, int64_t start, int64_t end, int64_t step) {
  if (step == 0) return Error(ErrorCode::malformed, node.what() + ": a step of 0");
  if (step == std::numeric_limits<int64_t>::min())
    return Error(ErrorCode::malformed, node.what() + ": a step out of range");
  const auto bounded = [&](int64_t at, int64_t low, int64_t high) {
    return std::clamp(at < 0 ? at + size : at, low, high);
  };
  const int64_t from = step > 0 ? bounded(start, 0, size) : bounded(start, 0, size - 1);
  const int64_t to = step > 0 ? bounded(end, 0, size) : bounded(end, -1, size - 1);
  const int64_t distance = step > 0 ? to - from : from - to;
  const int64_t stride = step > 0 ? step : -step;
  return SliceRange{from, distance <= 0 ? 0 : (distance - 1) / stride + 1, step};
}

}  // namespace coterie::model_import
