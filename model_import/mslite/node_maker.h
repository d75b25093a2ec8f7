// A graph that grows node by node. Private to make_graph: a file for each family of operators.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model_import/graph/node_builder.h"
#include "model_import/mslite/make_graph.h"

namespace coterie::model_import {

class NodeMaker : public NodeBuilder {
 public:
  explicit NodeMaker(const MsliteModel& model) : model_(model) {}
  Result<Graph> run();

  const MsliteOperator& op() const { return *op_; }
  const MsliteAttributes& attributes() const { return op_->attributes; }
  size_t input_count() const { return op_->inputs.size(); }
  const MsliteTensor& input(size_t i) const { return model_.tensors[op_->inputs[i]]; }
  const MsliteTensor& output(size_t i = 0) const { return model_.tensors[op_->outputs[i]]; }

  // Errors, to be given the node's name by who runs the families.
  Status need_rank(size_t i, size_t rank) const;
  Status need_image(size_t i) const;                           // of rank 4, NHWC
  Result<size_t> rank_of(size_t i) const;                      // invalid_argument: the file does not say it
  Result<std::vector<int64_t>> whole_numbers(size_t i) const;  // of a constant operand; invalid_argument: none
  // Counted from the front. Errors: malformed (out of range).
  static Result<int64_t> axis_within(int64_t axis, size_t rank);

  // The name under which operand i is read, made a constant where it is one.
  Result<std::string> read(size_t i);
  // A constant operand of floats, its dimensions in this order and then of this shape (empty: as permuted).
  Result<std::string> table(size_t i, const std::vector<uint32_t>& order, Shape shape = {});

  std::string uniform(const std::string& part, int64_t size, float value);  // `size` times the value
  std::string turned(const std::string& value, size_t rank);                // its last two dimensions exchanged

  // The node's output, behind its fused activation.
  Status define(const std::string& value, size_t i = 0);

 private:
  Status define_inputs();
  Status define_outputs();

  const MsliteModel& model_;
  const MsliteOperator* op_ = nullptr;
  std::map<uint32_t, std::string> read_as_;  // by tensor
};

inline Error does_not_fit(const std::string& why) { return Error(ErrorCode::malformed, why); }
inline Error no_counterpart(const std::string& why) { return Error(ErrorCode::invalid_argument, why); }

// Families; false: the node is of another one.
Result<bool> make_mslite_layer(NodeMaker& make);
Result<bool> make_mslite_elementwise(NodeMaker& make);
Result<bool> make_mslite_movement(NodeMaker& make);
Result<bool> make_mslite_recurrent(NodeMaker& make);

}  // namespace coterie::model_import
