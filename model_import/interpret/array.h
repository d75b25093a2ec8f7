// A tensor of the interpreter, and how its elements are walked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model_import/graph/host_value.h"

namespace coterie::model_import {

inline constexpr uint64_t kArrayElementsMax = 1u << 27;  // 1 GiB; larger ones are `too_large`

// Elements in row-major order, all as double: floats of every width exactly, integers exactly up to 2^53 (larger
// ones, such as the end of a Slice that has none, are rounded), booleans as 0 and 1. Other forms than tensors reach
// only the operators that take them.
struct Array {
  Element element = Element::real;
  Shape shape;  // every dimension at least 0
  std::vector<double> values;
  Width width = Width::any;
  Form form = Form::tensor;
  std::vector<std::string> texts = {};  // of Form::text, which has a shape and no values
  std::vector<Array> items = {};        // of a sequence: tensors or texts; of an optional: one of any form, or none

  size_t rank() const { return shape.size(); }
  int64_t size() const { return static_cast<int64_t>(values.size()); }
};

// An array of zeros. Errors: malformed (a negative dimension), too_large.
Result<Array> zeros(Element element, Shape shape);
// The same of another array's type.
Result<Array> zeros_like(const Array& array, Shape shape);
// Errors: malformed (elements and shape disagree; a multiple of the batch), too_large.
Result<Array> array_of(const HostTensor& tensor);
// The same of every form. Errors: also invalid_argument (a sequence of sequences, an optional of optionals).
Result<Array> array_of(const HostValue& value);

using Arrays = std::map<std::string, Array>;  // by the name that the value has in the graph

using Index = std::vector<int64_t>;

// Calls visit(index, number) for each element of that shape, in row-major order.
void for_each_index(const Shape& shape, const std::function<void(const Index&, size_t)>& visit);
// The element at an index, whose rank is the shape's.
size_t offset_of(const Shape& shape, const Index& index);
// The element of an array of shape `from` that broadcasts to this index: trailing dimensions are aligned, and a
// dimension of 1 repeats.
size_t broadcast_offset(const Shape& from, const Index& index);
// The shape that two broadcast to. Errors: malformed.
Result<Shape> broadcast_shape(const Shape& a, const Shape& b);

// The number as an integer: towards zero, and the nearest that int64 holds.
int64_t whole(double value);

}  // namespace coterie::model_import
