// A model file under construction: tensors, ops and payload, and the shape of every tensor while it grows.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model_import/graph/order.h"
#include "proto/messages/model.h"

namespace coterie::model_import {

using TensorIndex = uint32_t;

class ModelWriter {
 public:
  // Names become what a model file may hold, and unique.
  TensorIndex input(const std::string& name, Shape shape, DataType type);  // the shape without the batch
  TensorIndex parameter(const std::string& name, Shape shape, std::span<const float> values,
                        TensorRole role = TensorRole::parameter);
  TensorIndex constant(const std::string& name, Shape shape, std::span<const float> values);
  TensorIndex constant(const std::string& name, Shape shape, std::span<const int32_t> values);

  // An op with one output of this shape (a dimension of -k is k times the batch).
  TensorIndex op(OpKind kind, const std::string& name, std::vector<uint32_t> inputs, OpAttributes attributes,
                 Shape shape, DataType type = DataType::float32);
  std::vector<TensorIndex> ops(OpKind kind, const std::string& name, std::vector<uint32_t> inputs,
                               OpAttributes attributes, std::vector<Shape> shapes);

  // The tensor in another shape or order; the tensor itself where nothing changes. Asked twice, the same
  // tensor.
  TensorIndex reshape(TensorIndex x, const Shape& shape);
  TensorIndex transpose(TensorIndex x, const Order& order);

  const Shape& shape(TensorIndex x) const { return shapes_[x]; }
  DataType type(TensorIndex x) const { return types_[x]; }
  TensorRole role(TensorIndex x) const { return graph_.tensors[x].role; }
  const std::string& name(TensorIndex x) const { return graph_.tensors[x].name; }
  bool is_op_output(TensorIndex x) const { return role(x) == TensorRole::activation; }
  std::map<std::string, std::string>& properties() { return graph_.properties; }

  // The file. Ops and tensors that no output depends on are left out; an input never is. The first output is the
  // model's own. Where there are several, they are called by these names, unless another tensor is. Errors:
  // too_large.
  Result<Bytes> finish(const std::string& name, std::vector<TensorIndex> outputs,
                       const std::vector<std::string>& output_names = {});

 private:
  std::string unique(const std::string& name);
  TensorIndex add(TensorInfo info, Shape shape);
  void drop_unused(std::vector<TensorIndex>& outputs);  // which then count what is left
  void name_outputs(const std::vector<TensorIndex>& outputs, const std::vector<std::string>& names);
  Bytes payload_of_kept();

  ModelGraph graph_;
  std::vector<Shape> shapes_;
  std::vector<DataType> types_;
  std::vector<std::vector<float>> values_;  // of parameters and state
  std::set<std::string> names_;
  std::map<std::string, uint32_t> next_suffix_;
  std::map<std::pair<TensorIndex, Shape>, TensorIndex> reshaped_;
  std::map<std::pair<TensorIndex, Order>, TensorIndex> transposed_;
  std::map<TensorIndex, TensorIndex> reshape_source_;
};

}  // namespace coterie::model_import
