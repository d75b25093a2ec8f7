#include "model_import/convert/composer.h"

#include <array>

namespace coterie::model_import {

TensorIndex Composer::op(OpKind kind, const std::vector<TensorIndex>& inputs, OpAttributes attributes, Shape shape,
                         DataType type) {
  return writer_.op(kind, name_ + "." + std::string(to_string(kind)), inputs, std::move(attributes), std::move(shape),
                    type);
}

TensorIndex Composer::number(float value) {
  const std::array<float, 1> values{value};
  return writer_.constant(name_ + ".number", {1}, std::span<const float>(values));
}

TensorIndex Composer::table(const Shape& shape, const std::vector<float>& values) {
  return writer_.constant(name_ + ".table", shape, std::span<const float>(values));
}

TensorIndex Composer::unary(OpKind kind, TensorIndex x) { return unary(kind, x, default_attributes(kind)); }

TensorIndex Composer::unary(OpKind kind, TensorIndex x, OpAttributes attributes) {
  return op(kind, {x}, std::move(attributes), Shape(shape(x)));
}

TensorIndex Composer::binary(OpKind kind, TensorIndex a, TensorIndex b) {
  return op(kind, {a, b}, {}, Shape(shape(a)));
}

TensorIndex Composer::is_equal(TensorIndex a, TensorIndex b) {
  return as_type(op(OpKind::equal, {a, b}, {}, Shape(shape(a)), DataType::int32), DataType::float32);
}

TensorIndex Composer::as_type(TensorIndex x, DataType type) {
  if (writer_.type(x) == type) return x;
  return op(OpKind::cast, {x}, CastAttributes{static_cast<uint8_t>(type)}, Shape(shape(x)), type);
}

TensorIndex Composer::reduced(OpKind kind, TensorIndex x, size_t dimension) {
  Shape to = shape(x);
  to[dimension] = 1;
  ReduceAttributes attributes;
  attributes.axes = {static_cast<int64_t>(dimension)};
  attributes.keep_dimensions = true;
  return op(kind, {x}, attributes, std::move(to));
}

TensorIndex Composer::sliced(TensorIndex x, size_t dimension, int64_t start, int64_t count, int64_t step) {
  Shape to = shape(x);
  to[dimension] = count;
  return op(OpKind::slice, {x}, SliceAttributes{{static_cast<int64_t>(dimension)}, {start}, {count}, {step}},
            std::move(to), writer_.type(x));
}

TensorIndex Composer::expanded(TensorIndex x, size_t dimension, int64_t count) {
  Shape to = shape(x);
  if (to[dimension] == count) return x;
  to[dimension] = count;
  return op(OpKind::expand, {x}, ShapeAttributes{to}, to, writer_.type(x));
}

TensorIndex Composer::joined(const std::vector<TensorIndex>& parts, size_t dimension) {
  if (parts.size() == 1) return parts[0];
  Shape to = shape(parts[0]);
  to[dimension] = 0;
  for (const TensorIndex part : parts) to[dimension] += shape(part)[dimension];
  return op(OpKind::concat, parts, AxisAttributes{static_cast<uint32_t>(dimension)}, std::move(to),
            writer_.type(parts[0]));
}

}  // namespace coterie::model_import
