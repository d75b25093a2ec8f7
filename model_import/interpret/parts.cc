#include "model_import/interpret/parts.h"

#include "model_import/interpret/operator.h"

namespace coterie::model_import {

Result<Array> concatenated(const std::vector<const Array*>& parts, int64_t axis_given) {
  const Array& first = *parts.front();
  COT_ASSIGN(const size_t axis, axis_of(axis_given, first.rank()));
  Shape shape = first.shape;
  shape[axis] = 0;
  for (const Array* part : parts) {
    Shape rest = part->shape;
    if (rest.size() != shape.size()) return bad_form("operands of different ranks");
    rest[axis] = shape[axis];
    if (rest != shape) return bad_form("operands that differ in another dimension than the axis");
    shape[axis] += part->shape[axis];
  }
  COT_ASSIGN(Array y, zeros_like(first, shape));
  int64_t before = 0;
  for (const Array* part : parts) {
    for_each_index(part->shape, [&](Index index, size_t i) {
      index[axis] += before;
      y.values[offset_of(shape, index)] = part->values[i];
    });
    before += part->shape[axis];
  }
  return y;
}

Result<Array> stacked(const std::vector<Array>& parts, int64_t axis_given) {
  COT_ASSIGN(const size_t axis, axis_of(axis_given, parts.front().rank() + 1));
  std::vector<Array> layers = parts;
  std::vector<const Array*> operands;
  for (Array& layer : layers) {
    if (layer.rank() < axis) return bad_form("operands of different ranks");
    layer.shape.insert(layer.shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    operands.push_back(&layer);
  }
  return concatenated(operands, static_cast<int64_t>(axis));
}

Result<Array> part_of(const Array& x, size_t axis, int64_t start, int64_t count, int64_t step) {
  Shape shape = x.shape;
  shape[axis] = count;
  COT_ASSIGN(Array y, zeros_like(x, shape));
  for_each_index(shape, [&](Index index, size_t i) {
    index[axis] = start + index[axis] * step;
    y.values[i] = x.values[offset_of(x.shape, index)];
  });
  return y;
}

Result<Array> at_position(const Array& x, size_t axis, int64_t position) {
  COT_ASSIGN(Array y, part_of(x, axis, position, 1, 1));
  y.shape.erase(y.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return y;
}

}  // namespace coterie::model_import
