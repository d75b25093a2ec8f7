#include "tools/compare_tensors/axis_order.h"

#include <algorithm>

namespace coterie {
namespace {

constexpr size_t kRankMin = 3;  // batch, channels, and a size that they lie around

Shape without_ones(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

}  // namespace

Shape moved(const Shape& shape, AxisOrder order) {
  Shape to = shape;
  if (shape.size() < kRankMin) return to;
  if (order == AxisOrder::channels_last) std::rotate(to.begin() + 1, to.begin() + 2, to.end());
  if (order == AxisOrder::channels_first) std::rotate(to.begin() + 1, to.end() - 1, to.end());
  return to;
}

template <typename Element>
std::vector<Element> moved(const std::vector<Element>& values, const Shape& shape, AxisOrder order) {
  std::vector<Element> to = values;
  if (order == AxisOrder::same || shape.size() < kRankMin || values.empty()) return to;
  // Both are a transposition of [channels, rest] or [rest, channels] for each example.
  const auto examples = static_cast<size_t>(shape.front()), size = values.size() / examples;
  const auto channels = static_cast<size_t>(order == AxisOrder::channels_last ? shape[1] : shape.back());
  const size_t rows = order == AxisOrder::channels_last ? channels : size / channels, columns = size / rows;
  for (size_t example = 0; example < examples; ++example) {
    for (size_t row = 0; row < rows; ++row) {
      for (size_t column = 0; column < columns; ++column) {
        to[example * size + column * rows + row] = values[example * size + row * columns + column];
      }
    }
  }
  return to;
}

template std::vector<float> moved(const std::vector<float>&, const Shape&, AxisOrder);
template std::vector<double> moved(const std::vector<double>&, const Shape&, AxisOrder);

std::vector<AxisOrder> fitting_orders(const Shape& from, const Shape& to) {
  std::vector<AxisOrder> orders;
  for (const AxisOrder order : {AxisOrder::same, AxisOrder::channels_last, AxisOrder::channels_first}) {
    if (order != AxisOrder::same && from.size() < kRankMin) continue;
    if (without_ones(moved(from, order)) == without_ones(to)) orders.push_back(order);
  }
  return orders;
}

}  // namespace coterie
