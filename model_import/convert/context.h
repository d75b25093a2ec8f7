// What the converters of single nodes share: the values of the ONNX graph, each with its ONNX shape and the
// tensor of the model that holds it.
//
// The tensor of a value may have its dimensions in another order than ONNX: images keep their channels last,
// a Transpose only changes the order that is written down here, and an op that can work along any axis takes
// its operand as it lies. `in_order` is the one place where elements really move.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model_import/convert/model_writer.h"
#include "model_import/graph/graph.h"
#include "model_import/graph/node_error.h"
#include "model_import/graph/order.h"

namespace coterie::model_import {

struct Value {
  std::string name;
  Shape shape;  // as in ONNX; -k is k times the batch
  Element element = Element::real;
  const HostTensor* host = nullptr;  // known at import
  std::string initializer;           // host: the initializer it is, maybe in another shape or order; else empty
  TensorIndex tensor = kNoTensor;    // once an op needs it, if it is known at import
  Order order;                       // dimension i of the tensor is dimension order[i] of the value
  size_t rank() const { return shape.size(); }
  bool is_activation() const { return host == nullptr; }
};

// What became of a table of the file that a model could train.
struct TableUse {
  std::string name;  // in the model; where it is not kept, in the file
  std::string text;  // "NAME (3x4): trained, though no layer's weight: read by node /Mul (Mul)"
  bool is_note = false;
};

// What the caller says of tables by name: patterns (name_pattern.h) of the file's name or the model's.
struct TablePatterns {
  std::vector<std::string> constant, trainable;
};

class Context {
 public:
  Context(const Graph& graph, TablePatterns patterns) : graph_(graph), patterns_(std::move(patterns)) {}

  ModelWriter writer;
  // The batch that static shapes of the file were exported for; 0: the file leaves it open.
  int64_t exported_batch = 0;

  const Graph& graph() const { return graph_; }
  size_t readers(const std::string& name)
      const;  // nodes, and the graph's outputs; an Identity of a constant is a constant of its own
  void count_reader(const std::string& graph_output) { ++readers_[graph_output]; }
  void count_readers();  // nodes

  // --- what a node reads
  Value& in(const Node& node, size_t i) { return values_.at(node.inputs[i]); }
  Value* find(const std::string& name);
  // The operand, which must be known at import.
  Result<const HostTensor*> host(const Node& node, size_t i);
  Result<std::vector<int64_t>> whole_numbers(const Node& node, size_t i);
  Result<float> number(const Node& node, size_t i);  // one element

  // --- values as tensors. What cannot be one (a number that depends on the batch) is noted in failure().
  // With dimension i being the value's dimension order[i].
  TensorIndex in_order(Value& value, const Order& order);
  TensorIndex plain(Value& value) { return in_order(value, identity_order(value.rank())); }
  TensorIndex image(Value& value) { return in_order(value, image_order(value.rank())); }
  // The order it has; ONNX's for what is known at import and no tensor yet.
  Order lying_order(const Value& value) const;
  TensorIndex as_it_lies(Value& value) { return in_order(value, lying_order(value)); }
  bool is_placed(const Value& value) const { return value.host != nullptr && placed_.contains(value.host); }
  // As in_order, for a host value of this shape in the model: its own, permuted, without some dimensions of
  // size 1.
  TensorIndex in_shape(Value& value, const Order& order, const Shape& shape, bool is_trained);
  const std::optional<Error>& failure() const { return failure_; }
  void fail(Error error);

  // A trained parameter made of the initializer's elements. `part`: what it is to its node (weight, bias),
  // for initializers whose name was made up by the exporter.
  TensorIndex parameter(const Node& node, const Value& value, const std::string& part, Shape shape,
                        std::span<const float> values, TensorRole role = TensorRole::parameter);
  // The same for one part of an initializer; read twice, it is one parameter.
  TensorIndex part_parameter(const Value& value, const std::string& part, const std::string& name, Shape shape,
                             std::span<const float> values);
  // How many layers of recurrent operators the scope has had.
  size_t next_layer(const std::string& scope) { return layers_[scope]++; }
  // The operand, its dimensions in this order behind `ones` of size 1: a parameter, unless another node
  // computes it.
  Result<TensorIndex> weight(const Node& node, size_t i, const std::string& part, const Order& order, size_t ones = 0);
  // The operand, of rank 1 after dimensions of size 1, as a parameter of `count` elements.
  Result<TensorIndex> vector_parameter(const Node& node, size_t i, const std::string& part, int64_t count,
                                       TensorRole role = TensorRole::parameter);
  // Whether a value that an arithmetic op reads is trained: an initializer of more than one finite element, none of
  // them -1e4 or below (which masks are made of), that no formula filled (computed_table.h); or what the patterns say.
  bool is_trained_operand(const Value& value);
  bool is_said_trainable(const Value& value) { return is_said(patterns_.trainable, value); }
  // The input, or arithmetic of it and of numbers: what stands beside it normalises the data.
  bool is_raw_input(const Value& value) const;
  void mark_raw(TensorIndex tensor) { raw_.insert(tensor); }
  // That an operand which might be trained is not, and why.
  void note_constant(const Value& value, const std::string& why);

  void begin(const Node& node) { node_ = &node; }
  // By name, each once.
  std::vector<TableUse> uses() const;
  // invalid_argument: a pattern that nothing matched.
  Status check_patterns() const;

  // --- what a node writes
  Value& define(const Node& node, size_t i, TensorIndex tensor, const Order& order);
  Value& define(const Node& node, size_t i, TensorIndex tensor);  // in ONNX's order
  void define_host(const std::string& name, HostTensor tensor, const std::string& initializer);
  void define_constant(const std::string& name, const Constant& constant);  // which outlives the context
  void define_input(const std::string& name, const Shape& shape, Element element, TensorIndex tensor, Order order);
  void alias(const Node& node, const Value& value);  // output 0 is that value

 private:
  void check_size(TensorIndex tensor);
  TensorIndex add_parameter(const Value& value, const std::string& name, const std::string& part, Shape shape,
                            std::span<const float> values, TensorRole role);
  bool is_said(const std::vector<std::string>& patterns, const Value& value);
  bool is_computed(const HostTensor& tensor);
  void note(const std::string& name, const Shape& shape, const std::string& what, bool is_note);

  const Graph& graph_;
  TablePatterns patterns_;
  std::set<std::string> matched_;  // of the patterns
  const Node* node_ = nullptr;     // that is being converted
  std::set<TensorIndex> raw_;
  std::map<const HostTensor*, bool> computed_;
  std::map<std::string, TableUse> uses_;
  std::map<std::string, Value> values_;
  std::map<std::string, size_t> readers_;
  struct Placed {
    TensorIndex tensor;
    Order order;
  };
  std::map<const HostTensor*, Placed> placed_;  // so that an initializer read twice is one parameter
  std::map<std::pair<const HostTensor*, std::string>, TensorIndex> parts_;  // the same, of part_parameter
  std::map<std::string, size_t> layers_;
  std::vector<std::unique_ptr<HostTensor>> owned_;
  std::optional<Error> failure_;
};

// --- helpers of converters

// Whether an exporter made the name up: "onnx::LSTM_85", "/l/Unsqueeze_output_0", "12", or none.
bool is_made_up(const std::string& initializer);

// What the tensors and ops that a node becomes are called.
std::string name_of(const Node& node);
// The scope of a node that PyTorch exported, as PyTorch names modules: "/layer1/layer1.0/conv1/Conv" is
// layer1.0.conv1.
std::string scope_of(const Node& node);

}  // namespace coterie::model_import
