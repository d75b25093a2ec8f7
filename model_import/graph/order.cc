#include "model_import/graph/order.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace coterie::model_import {

Order identity_order(size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

Order image_order(size_t rank) {
  Order order{0};
  for (uint32_t i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}

Shape permuted(const Shape& shape, const Order& order) {
  Shape result;
  for (const uint32_t i : order) result.push_back(shape[i]);
  return result;
}

Shape unpermuted(const Shape& shape, const Order& order) {
  Shape result(shape.size());
  for (size_t i = 0; i < order.size(); ++i) result[order[i]] = shape[i];
  return result;
}

std::vector<uint64_t> permuted_indices(const Shape& shape, const Order& order) {
  std::vector<uint64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * static_cast<uint64_t>(shape[i]);
  std::vector<uint64_t> sources{0};
  for (const uint32_t axis : order) {
    std::vector<uint64_t> next;
    next.reserve(sources.size() * static_cast<size_t>(shape[axis]));
    for (const uint64_t source : sources) {
      for (int64_t k = 0; k < shape[axis]; ++k) next.push_back(source + static_cast<uint64_t>(k) * strides[axis]);
    }
    sources = std::move(next);
  }
  return sources;
}

std::vector<float> permuted_elements(std::span<const float> values, const Shape& shape, const Order& order) {
  if (order == identity_order(order.size())) return {values.begin(), values.end()};
  std::vector<float> result;
  result.reserve(values.size());
  for (const uint64_t source : permuted_indices(shape, order)) result.push_back(values[source]);
  return result;
}

uint32_t position_of(const Order& order, uint32_t axis) {
  return static_cast<uint32_t>(std::ranges::find(order, axis) - order.begin());
}

Order with_last(Order order, uint32_t axis) {
  if (order.back() == axis) return order;
  std::erase(order, axis);
  order.push_back(axis);
  return order;
}

Order with_tail(const Order& order, uint32_t axis) {
  Order result;
  std::ranges::copy_if(order, std::back_inserter(result), [axis](uint32_t i) { return i < axis; });
  for (uint32_t i = axis; i < order.size(); ++i) result.push_back(i);
  return result;
}

}  // namespace coterie::model_import
