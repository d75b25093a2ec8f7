// What the exporters of single ops share: for each tensor of the model the ONNX value that holds it, and the
// order in which its dimensions lie there. The mirror image of context.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device_sdk/runtime/model.h"
#include "model_import/export/grids.h"
#include "model_import/graph/graph.h"
#include "model_import/graph/order.h"

namespace coterie::model_import {

inline const Order kImageInOnnx{0, 3, 1, 2};  // NCHW of NHWC

class ExportContext {
 public:
  // With grids, which must outlive it, what lies on them is written as integers.
  explicit ExportContext(const Model& model, const ExportGrids* grids = nullptr);

  Graph graph;  // what has been written so far

  const Model& model() const { return model_; }
  const Shape& shape(uint32_t tensor) const { return model_.shape(tensor); }
  size_t rank(uint32_t tensor) const { return shape(tensor).size(); }
  bool is_stored(uint32_t tensor) const;                 // a parameter, state or constant
  std::span<const float> values(uint32_t tensor) const;  // of a parameter or state

  std::vector<float> stored(uint32_t tensor) const;  // of a constant of floats, too

  // The value with dimension i being the tensor's dimension order[i].
  std::string in_order(uint32_t tensor, const Order& order);
  std::string plain(uint32_t tensor) { return in_order(tensor, identity_order(rank(tensor))); }
  // The order it has; the tensor's own for what is stored and not written yet.
  Order lying_order(uint32_t tensor) const;
  // A value that broadcasts to a result of that rank and order.
  std::string broadcastable(uint32_t tensor, const Order& order);
  // The first operand with the result's rank that is no stored tensor: the others follow its order.
  Order leading_order(const OpInfo& op) const;

  // A stored float tensor as an initializer of these elements, under its own name; a second time, under
  // another.
  std::string initializer(uint32_t tensor, Shape shape, std::vector<float> values);
  std::string integers(const std::vector<int64_t>& values);  // an initializer of rank 1
  std::string reals(const std::vector<float>& values, Shape shape);
  std::string real(float value) { return reals({value}, {}); }

  // One node; its output's name is new unless given.
  std::string node(const std::string& op, std::vector<std::string> inputs,
                   std::map<std::string, Attribute> attributes = {}, std::string output = {});
  // `value`, which has shape `from`, as `to`; a dimension of -k is k times the batch.
  std::string reshape(const std::string& value, const Shape& to);
  std::string shape_value(const Shape& shape);  // a list of integers that may depend on the batch

  // A value with a grid is put on it, and taken off for those who read it.
  void define(uint32_t tensor, std::string value, Order order);
  void define(uint32_t tensor, std::string value) { define(tensor, std::move(value), identity_order(rank(tensor))); }
  std::string unique(const std::string& base);
  const OpInfo* current = nullptr;  // whose nodes are being written

 private:
  struct Placed {
    std::string value;
    Order order;
  };
  void write_stored(uint32_t tensor, const Order& order, Shape shape);
  std::string dequantised(uint32_t tensor, const ExportIntegers& held, const Order& order, Shape shape);
  std::string on_grid(const std::string& value, const kernels::int8::Grid& grid);
  std::string whole(const std::string& name, Width width, Shape shape, const std::vector<int32_t>& values);

  const Model& model_;
  const ExportGrids* grids_;
  std::vector<std::optional<Placed>> placed_;
  std::map<std::string, uint32_t> names_;
  std::map<std::pair<uint32_t, Order>, std::string> moved_;
  std::map<std::vector<int64_t>, std::string> lists_;
};

using Exporter = Status (*)(ExportContext&, const OpInfo&);
Exporter layer_exporter(OpKind kind);  // null: of another family
Exporter elementwise_exporter(OpKind kind);
Exporter shape_exporter(OpKind kind);
Exporter recurrent_exporter(OpKind kind);

}  // namespace coterie::model_import
