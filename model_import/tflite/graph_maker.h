// A graph that grows operator by operator. Private to make_graph: a file for each family of operators, one for tables.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model_import/graph/node_builder.h"
#include "model_import/tflite/make_graph.h"

namespace coterie::model_import {

Element element_of(TfliteType type);
bool is_narrow(TfliteType type);  // integers of at most 16 bits, as values of a network have them

class GraphMaker : public NodeBuilder {
 public:
  GraphMaker(const TfliteModel& model, TfliteNumbers numbers) : model_(model), numbers_(numbers) {}
  Result<Graph> run();

  const TfliteModel& model() const { return model_; }
  const TfliteOperator& op() const { return *op_; }
  const TfliteTensor& input(size_t i) const { return model_.tensor(op_->inputs[i]); }
  const TfliteTensor& output(size_t i = 0) const { return model_.tensor(op_->outputs[i]); }

  // Errors, to be given the operator's name by who runs the families.
  Status need_inputs(size_t at_least) const;  // malformed
  Status need_rank(size_t i, size_t rank) const;
  Result<std::vector<int64_t>> whole_numbers(size_t i) const;  // of a constant operand; invalid_argument: none

  // The name under which operand i is read, made a constant where it is one.
  Result<std::string> read(size_t i);
  // A constant operand, its dimensions in this order and then of this shape (empty: as permuted).
  Result<std::string> table(size_t i, const std::vector<uint32_t>& order, Shape shape = {});

  std::string parameter(const std::string& part, HostTensor tensor);  // named after the output and the part

  // The operator's output, behind its fused activation and, in QDQ, on its grid.
  Status define(const std::string& value, size_t i = 0);

 private:
  bool is_on_grid(const TfliteTensor& tensor) const;
  bool ends_graph(int32_t tensor) const;
  std::string activated(const std::string& value);
  std::string on_grid(const std::string& value, const TfliteTensor& tensor);
  HostTensor real_values(const TfliteTensor& tensor) const;
  Result<std::string> quantised_table(const TfliteTensor& tensor, HostTensor integers, size_t axis);
  void define_inputs();
  void define_outputs();

  const TfliteModel& model_;
  const TfliteNumbers numbers_;
  const TfliteOperator* op_ = nullptr;
  std::map<int32_t, std::string> read_as_;  // by tensor
  std::map<int32_t, int32_t> widened_;      // what DEQUANTIZE makes of a constant (float16 weights): the constant
};

// Families; false: the operator is of another one.
Result<bool> make_layer(GraphMaker& make);
Result<bool> make_elementwise(GraphMaker& make);
Result<bool> make_movement(GraphMaker& make);
Result<bool> make_recurrent(GraphMaker& make);

}  // namespace coterie::model_import
