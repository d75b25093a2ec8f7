// Ops for an operator that the vocabulary of models lacks, one after the other. Their names are the node's, and a part.
#pragma once

#include <string>
#include <vector>

#include "model_import/convert/context.h"

namespace coterie::model_import {

class Composer {
 public:
  Composer(Context& context, const Node& node) : writer_(context.writer), name_(name_of(node)) {}

  const Shape& shape(TensorIndex x) const { return writer_.shape(x); }
  TensorIndex number(float value);
  TensorIndex table(const Shape& shape, const std::vector<float>& values);
  TensorIndex unary(OpKind kind, TensorIndex x);  // with the op's defaults
  TensorIndex unary(OpKind kind, TensorIndex x, OpAttributes attributes);
  TensorIndex binary(OpKind kind, TensorIndex a, TensorIndex b);  // of a's shape, to which b broadcasts
  TensorIndex is_equal(TensorIndex a, TensorIndex b);             // 1.0 and 0.0, of a's shape
  TensorIndex as_type(TensorIndex x, DataType type);
  // Over one dimension, which stays with size 1.
  TensorIndex reduced(OpKind kind, TensorIndex x, size_t dimension);
  TensorIndex sliced(TensorIndex x, size_t dimension, int64_t start, int64_t count, int64_t step);
  TensorIndex expanded(TensorIndex x, size_t dimension, int64_t count);  // a dimension of size 1
  TensorIndex joined(const std::vector<TensorIndex>& parts, size_t dimension);
  TensorIndex op(OpKind kind, const std::vector<TensorIndex>& inputs, OpAttributes attributes, Shape shape,
                 DataType type = DataType::float32);

 private:
  ModelWriter& writer_;
  std::string name_;
};

}  // namespace coterie::model_import
