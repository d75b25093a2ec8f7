#include "model_import/interpret/array.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace coterie::model_import {

Result<Array> zeros(Element element, Shape shape) {
  uint64_t count = 1;
  for (const int64_t dimension : shape) {
    if (dimension < 0) return Error(ErrorCode::malformed, "a dimension of " + std::to_string(dimension));
    const auto size = static_cast<uint64_t>(dimension);
    if (size > kArrayElementsMax || __builtin_mul_overflow(count, size, &count) || count > kArrayElementsMax)
      return Error(ErrorCode::too_large, "a tensor of more than 2^27 elements");
  }
  return Array{element, std::move(shape), std::vector<double>(count, 0.0)};
}

Result<Array> zeros_like(const Array& array, Shape shape) {
  COT_ASSIGN(Array made, zeros(array.element, std::move(shape)));
  made.width = array.width;
  return made;
}

Result<Array> array_of(const HostTensor& tensor) {
  COT_ASSIGN(Array array, zeros(tensor.element, tensor.shape));
  if (tensor.is_uniform || tensor.stored() != array.values.size())
    return Error(ErrorCode::malformed, "a tensor whose elements and shape disagree");
  array.width = tensor.width;
  for (size_t i = 0; i < array.values.size(); ++i) {
    if (tensor.element == Element::real) {
      array.values[i] = static_cast<double>(tensor.reals[i]);
      continue;
    }
    if (tensor.integers[i].per_batch) return Error(ErrorCode::malformed, "a number that is a multiple of the batch");
    array.values[i] = static_cast<double>(tensor.integers[i].value);
  }
  return array;
}

Result<Array> array_of(const HostValue& value) {
  if (value.form == Form::tensor) return array_of(value.tensor);
  Array array;
  array.form = value.form;
  array.shape = value.tensor.shape;
  array.texts = value.texts;
  for (const HostValue& item : value.items) {
    if (item.form == Form::optional || (item.form == Form::sequence && value.form == Form::sequence))
      return Error(ErrorCode::invalid_argument, "a value that holds sequences of sequences or optional values");
    COT_ASSIGN(Array held, array_of(item));
    array.items.push_back(std::move(held));
  }
  return array;
}

void for_each_index(const Shape& shape, const std::function<void(const Index&, size_t)>& visit) {
  size_t count = 1;
  for (const int64_t dimension : shape) count *= static_cast<size_t>(dimension);
  Index index(shape.size(), 0);
  for (size_t number = 0; number < count; ++number) {
    visit(index, number);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

size_t offset_of(const Shape& shape, const Index& index) {
  int64_t offset = 0;
  for (size_t i = 0; i < shape.size(); ++i) offset = offset * shape[i] + index[i];
  return static_cast<size_t>(offset);
}

size_t broadcast_offset(const Shape& from, const Index& index) {
  const size_t skipped = index.size() - from.size();
  int64_t offset = 0;
  for (size_t i = 0; i < from.size(); ++i) offset = offset * from[i] + (from[i] == 1 ? 0 : index[skipped + i]);
  return static_cast<size_t>(offset);
}

Result<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()));
  for (size_t i = 0; i < shape.size(); ++i) {
    // From the end; what is not there counts as 1.
    const int64_t in_a = i < a.size() ? a[a.size() - 1 - i] : 1, in_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (in_a != in_b && in_a != 1 && in_b != 1) {
      return Error(ErrorCode::malformed,
                   "dimensions " + std::to_string(in_a) + " and " + std::to_string(in_b) + " do not broadcast");
    }
    shape[shape.size() - 1 - i] = in_a == 1 ? in_b : in_a;
  }
  return shape;
}

int64_t whole(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (value < -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

}  // namespace coterie::model_import
