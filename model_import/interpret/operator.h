// What the interpreter's operators are given, and their families. Each is written from its page in ONNX's
// documentation (onnx/docs/Operators.md and Changelog.md, opset 11 to 22): plain loops over doubles.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model_import/graph/graph.h"
#include "model_import/interpret/array.h"
#include "model_import/interpret/intent.h"

namespace coterie::model_import {

// Values of the graph around a body that the body reads, each where it lies. The names are the body's.
using Captures = std::map<std::string, const Array*>;

// One node with the values of its operands.
struct Call {
  const Node& node;
  int64_t opset;
  std::vector<const Array*> operands;  // null: absent
  Intent intent = Intent::prediction;
  const Captures* captures = nullptr;  // of a node with bodies: what they read of the values around it
  uint64_t* work_left = nullptr;

  bool has(size_t i) const { return i < operands.size() && operands[i] != nullptr; }
  const Array& operand(size_t i) const { return *operands[i]; }  // that has(i)
};

// The node's outputs in order; trailing ones that nobody computes may be missing. Errors: malformed, too_large,
// invalid_argument (a form of the operator that is not known); interpret() adds the node's name.
using Outputs = std::vector<Array>;
using Operator = Result<Outputs> (*)(const Call&);

// Null: the family has no such operator.
Operator unary_operator(const std::string& op);
Operator binary_operator(const std::string& op);
Operator reduce_operator(const std::string& op);
Operator matrix_operator(const std::string& op);
Operator convolution_operator(const std::string& op);
Operator pool_operator(const std::string& op);
Operator resize_operator(const std::string& op);
Operator norm_operator(const std::string& op);
Operator shape_operator(const std::string& op);
Operator data_operator(const std::string& op);
Operator fill_operator(const std::string& op);
Operator recurrent_operator(const std::string& op);
Operator image_block_operator(const std::string& op);
Operator index_operator(const std::string& op);
Operator quantise_operator(const std::string& op);
Operator integer_product_operator(const std::string& op);
Operator special_operator(const std::string& op);
Operator bits_operator(const std::string& op);
Operator scatter_operator(const std::string& op);
Operator select_operator(const std::string& op);
Operator detection_operator(const std::string& op);
Operator grid_sample_operator(const std::string& op);
Operator einsum_operator(const std::string& op);
Operator signal_operator(const std::string& op);
Operator loss_operator(const std::string& op);
Operator unpool_operator(const std::string& op);
Operator n_gram_operator(const std::string& op);
Operator roi_operator(const std::string& op);
Operator training_operator(const std::string& op);
// Those of the following take operands of every form, and may have none.
Operator sequence_operator(const std::string& op);
Operator optional_operator(const std::string& op);
Operator control_operator(const std::string& op);
Operator text_operator(const std::string& op);  // Cast and CastLike among them, where texts are cast

// --- for the families
Error bad_form(const std::string& why);                 // malformed
Error unknown_form(const std::string& why);             // invalid_argument
Status needs_operands(const Call& call, size_t count);  // the first `count` are there
// A list of integers, or one number. Errors: malformed.
Result<std::vector<int64_t>> integers_of(const Array& array);
Result<size_t> axis_of(int64_t axis, size_t rank);  // negative: from the end. Errors: malformed
// The attribute `axes` before opset `since`, operand `i` from there on; empty where neither is there.
Result<std::vector<int64_t>> axes_given(const Call& call, size_t i, int64_t since);
Outputs one(Array array);
// What a body makes of these inputs, in its order. Errors: those of interpret(); malformed (another number of inputs).
Result<Outputs> run_body(const Call& call, const Graph& body, std::vector<Array> inputs);
// For an operator that reads far more than it makes: as if it made that many elements. Errors: too_large.
Status charge_elements(const Call& call, uint64_t elements);
// The body that the node has under that name. Errors: malformed.
Result<const Graph*> body_of(const Call& call, const std::string& key);
Result<bool> is_true(const Array& array);  // one boolean. Errors: malformed
// What a cast makes of the values: 0 and 1 for `boolean`, else their whole parts; interpret() wraps them to the width.
void become_whole(Array& array, Element element, Width width);

// What a cast makes of them: rounded where the specification has halves; interpret() rounds to float32.
void become_real(Array& array, Width width, Intent intent);

// What a family's table has for the operator; null: nothing.
template <typename Function>
Function entry_of(const std::map<std::string, Function>& table, const std::string& op) {
  const auto found = table.find(op);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace coterie::model_import
