// The imported graph: what a reader of a file format hands over, and a writer is handed.
//
// It belongs to no format, but its operators are ONNX's, by name and meaning (onnx/docs/Operators.md, opset 11 to 22;
// fused_ops.h adds what patterns become): every other format maps onto that vocabulary in its reader.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "proto/messages/model.h"

namespace coterie::model_import {

// A whole number that is known at import, or known as a multiple of the batch.
struct Integer {
  int64_t value = 0;
  bool per_batch = false;  // value times the batch
  friend bool operator==(const Integer&, const Integer&) = default;
};

// Floats of every width are held as float32, integers of every width as int64.
enum class Element : uint8_t { real, integer, boolean };
DataType data_type(Element element);  // booleans become int32
// The width that numbers have in a file, where an operator asks for it; any: another one, or it is not known.
enum class Width : uint8_t { any, int8, uint8, int32, float16, bfloat16, float32, float64 };

struct HostTensor {
  Element element = Element::real;
  Width width = Width::any;
  Shape shape;                    // -k, k times the batch, only where is_uniform
  std::vector<float> reals;       // of Element::real
  std::vector<Integer> integers;  // of the others; a boolean is 0 or 1
  bool is_uniform = false;        // one element, which stands for all

  size_t stored() const { return element == Element::real ? reals.size() : integers.size(); }
};
HostTensor host_integers(std::vector<Integer> values);  // of rank 1

struct Graph;
using Body = std::shared_ptr<const Graph>;  // what a node such as If or Loop runs; never null
using Attribute = std::variant<std::monostate, float, int64_t, std::string, std::vector<float>, std::vector<int64_t>,
                               std::vector<std::string>, HostTensor, Body>;  // monostate: of a kind no supported op has

struct Node {
  std::string op;  // "domain.op" unless the domain is ONNX's own
  std::string name;
  std::vector<std::string> inputs, outputs;  // an empty name: an optional one that is absent
  std::map<std::string, Attribute> attributes;
  std::set<std::string> captures = {};  // values around the node that its bodies read by name

  // The attribute, or the default where it is absent or of another type.
  int64_t integer(const std::string& key, int64_t absent) const;
  float real(const std::string& key, float absent) const;
  std::string text(const std::string& key, const std::string& absent) const;
  std::vector<int64_t> integers(const std::string& key) const;  // empty: absent

  bool has_input(size_t i) const { return i < inputs.size() && !inputs[i].empty(); }
  bool has_output(size_t i) const { return i < outputs.size() && !outputs[i].empty(); }
  std::string what() const;  // "node /conv1/Conv (Conv)", for messages
};

struct Dimension {
  int64_t value = 0;   // at least 1; 0: only the symbol is known
  std::string symbol;  // the name it has in the model, or "input.axis" where it has none
};

// What a value is. All but tensors are for the interpreter alone.
enum class Form : uint8_t { tensor, text, sequence, optional };

struct GraphValue {
  std::string name;
  Element element = Element::real;  // of a tensor
  std::vector<Dimension> shape;     // of a tensor
  Form form = Form::tensor;
};

struct Constant {
  HostTensor tensor;
  bool is_literal = false;  // of a Constant node, not an initializer: never a parameter
};

struct Graph {
  std::string name;
  int64_t opset = 17;                       // which edition of the operators the nodes follow
  std::vector<GraphValue> inputs, outputs;  // inputs: without those that are only an initializer's default
  std::map<std::string, Constant> constants;
  std::vector<Node> nodes;         // as the file has them; Constant nodes are among the constants
  std::set<std::string> captures;  // of a body: the values around it that it reads by name
};

// Each node after those whose outputs it or its bodies read. Errors, malformed: a value written twice, read and never
// written, or one that depends on itself.
Status sort_nodes(Graph& graph);

}  // namespace coterie::model_import
