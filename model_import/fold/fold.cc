#include "model_import/fold/fold.h"

#include <algorithm>

#include "model_import/graph/node_error.h"

namespace coterie::model_import {

Result<uint64_t> count_elements(const Node& node, const Shape& shape) {
  uint64_t count = 1;
  for (const int64_t dimension : shape) {
    if (dimension < 0) return unsupported(node, "computes with a tensor whose size depends on the batch");
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(dimension), &count) || count > kFoldElementsMax) {
      return Error(ErrorCode::too_large, node.what() + ": a constant of more than 2^26 elements");
    }
  }
  return count;
}

Result<std::vector<int64_t>> plain_integers(const Node& node, const HostTensor& tensor) {
  if (tensor.element == Element::real || tensor.is_uniform) return unsupported(node, "expects a list of integers");
  std::vector<int64_t> numbers;
  for (const Integer& integer : tensor.integers) {
    if (integer.per_batch) return unsupported(node, "takes a number that depends on the batch where it must not");
    numbers.push_back(integer.value);
  }
  return numbers;
}

Result<std::vector<int64_t>> axes_of(const Node& node, const Operands& operands, size_t i) {
  if (i < operands.size() && operands[i] != nullptr) return plain_integers(node, *operands[i]);
  return node.integers("axes");
}

HostTensor take(const HostTensor& tensor, Shape shape, const std::vector<uint64_t>& indices) {
  HostTensor result;
  result.element = tensor.element;
  result.shape = std::move(shape);
  if (tensor.element == Element::real) {
    result.reals.reserve(indices.size());
    for (const uint64_t i : indices) result.reals.push_back(tensor.reals[i]);
  } else {
    result.integers.reserve(indices.size());
    for (const uint64_t i : indices) result.integers.push_back(tensor.integers[i]);
  }
  return result;
}

Result<Shape> broadcast(const Node& node, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& to = result[longer.size() - shorter.size() + i];
    const int64_t from = shorter[i];
    if (from == to || from == 1) continue;
    if (to != 1) {
      const auto text = [](int64_t d) { return d < 0 ? std::to_string(-d) + " x batch" : std::to_string(d); };
      const bool has_batch = from < 0 || to < 0;
      return Error(
          ErrorCode::malformed,
          node.what() + ": dimensions " + text(to) + " and " + text(from) + " do not broadcast" +
              (has_batch ? "; if the model was exported for one batch size, export it with dynamic_axes" : ""));
    }
    to = from;
  }
  return result;
}

std::vector<uint64_t> broadcast_indices(const Shape& from, const Shape& to) {
  std::vector<uint64_t> strides(to.size(), 0);
  uint64_t stride = 1;
  for (size_t i = from.size(); i-- > 0;) {
    if (from[i] != 1) strides[to.size() - from.size() + i] = stride;
    stride *= static_cast<uint64_t>(from[i]);
  }
  std::vector<uint64_t> indices{0};
  for (size_t axis = 0; axis < to.size(); ++axis) {
    std::vector<uint64_t> next;
    next.reserve(indices.size() * static_cast<size_t>(to[axis]));
    for (const uint64_t index : indices) {
      for (int64_t k = 0; k < to[axis]; ++k) next.push_back(index + static_cast<uint64_t>(k) * strides[axis]);
    }
    indices = std::move(next);
  }
  return indices;
}

HostTensor shape_as_tensor(const Node& node, const Shape& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  const auto clamped = [rank](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = clamped(node.integer("start", 0));
  const int64_t end = clamped(node.integer("end", rank));
  std::vector<Integer> dimensions;
  for (int64_t i = start; i < end; ++i) {
    const int64_t dimension = shape[static_cast<size_t>(i)];
    dimensions.push_back(dimension < 0 ? Integer{-dimension, true} : Integer{dimension, false});
  }
  return host_integers(std::move(dimensions));
}

Result<std::vector<Integer>> reshape_target(const Node& node, const Shape& from, const std::vector<Integer>& target) {
  int64_t total = 1, rest = 1;
  int total_batches = 0, rest_batches = 0;
  for (const int64_t dimension : from) {
    total_batches += dimension < 0;
    if (__builtin_mul_overflow(total, dimension < 0 ? -dimension : dimension, &total))
      return unsupported(node, "too many elements");
  }
  std::vector<Integer> result = target;
  std::optional<size_t> open;
  for (size_t i = 0; i < result.size(); ++i) {
    Integer& integer = result[i];
    if (integer.value == 0 && node.integer("allowzero", 0) == 0) {
      if (i >= from.size()) return Error(ErrorCode::malformed, node.what() + ": copies a dimension that is not there");
      integer = from[i] < 0 ? Integer{-from[i], true} : Integer{from[i], false};
    }
    if (integer.value == -1 && !integer.per_batch) {
      if (open) return Error(ErrorCode::malformed, node.what() + ": two dimensions are -1");
      open = i;
      continue;
    }
    if (integer.value < 0)
      return Error(ErrorCode::malformed, node.what() + ": a dimension is " + std::to_string(integer.value));
    rest_batches += integer.per_batch;
    if (__builtin_mul_overflow(rest, integer.value, &rest)) return unsupported(node, "too many elements");
  }
  if (open) {
    if (rest == 0 || total % rest != 0 || rest_batches > total_batches) {
      return Error(ErrorCode::malformed, node.what() + ": " + std::to_string(total) +
                                             " elements do not divide into rows of " + std::to_string(rest));
    }
    result[*open] = {total / rest, total_batches > rest_batches};
  }
  return result;
}

Result<std::optional<HostTensor>> fold(const Node& node, const Operands& operands, int64_t opset) {
  FoldRule rule = index_rule(node.op);
  if (rule == nullptr) rule = arithmetic_rule(node.op);
  if (rule == nullptr) return std::optional<HostTensor>();
  if (operands.empty() || operands[0] == nullptr)
    return Error(ErrorCode::malformed, node.what() + ": its first operand is missing");
  auto result = rule(node, operands, opset);
  if (!result) return result.error();
  return std::optional<HostTensor>(std::move(*result));
}

}  // namespace coterie::model_import
