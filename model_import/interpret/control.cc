// Nodes that run a graph of their own: If, Loop and Scan.
#include <algorithm>
#include <limits>
#include <map>

#include "model_import/interpret/operator.h"
#include "model_import/interpret/parts.h"

namespace coterie::model_import {
namespace {

// What a loop gathers of one output, run by run.
struct Gathered {
  std::vector<Array> layers;
  uint64_t elements = 0;

  Status add(Array layer) {
    if (layer.form != Form::tensor) return bad_form("an output to be gathered that is no tensor");
    elements += layer.values.size();
    if (elements > kArrayElementsMax) return Error(ErrorCode::too_large, "a tensor of more than 2^27 elements");
    layers.push_back(std::move(layer));
    return {};
  }

  Result<Array> tensor(int64_t axis) const {
    if (layers.empty()) return unknown_form("outputs gathered by a loop that does not run");
    return stacked(layers, axis);
  }
};

Result<Outputs> compute_if(const Call& call) {
  COT_TRY(needs_operands(call, 1));
  COT_ASSIGN(const bool condition, is_true(call.operand(0)));
  COT_ASSIGN(const Graph* body, body_of(call, condition ? "then_branch" : "else_branch"));
  return run_body(call, *body, {});
}

// Operands: the most runs, whether to begin, what is carried. The body is given the run's number, the condition and
// what is carried, and makes the condition, what is carried, and what is gathered.
Result<Outputs> compute_loop(const Call& call) {
  COT_ASSIGN(const Graph* body, body_of(call, "body"));
  const size_t carried_count = call.operands.size() < 2 ? 0 : call.operands.size() - 2;
  if (body->outputs.size() < carried_count + 1) return bad_form("a body without a condition and what it carries");
  int64_t runs_max = std::numeric_limits<int64_t>::max();
  if (call.has(0)) {
    if (call.operand(0).form != Form::tensor || call.operand(0).size() != 1)
      return bad_form("a trip count that is not one number");
    runs_max = whole(call.operand(0).values[0]);
  }
  bool goes_on = true;
  if (call.has(1)) {
    COT_ASSIGN(goes_on, is_true(call.operand(1)));
  }
  Outputs carried;
  for (size_t i = 0; i < carried_count; ++i) {
    if (!call.has(i + 2)) return bad_form("its operand " + std::to_string(i + 2) + " is missing");
    carried.push_back(call.operand(i + 2));
  }
  std::vector<Gathered> gathered(body->outputs.size() - 1 - carried_count);
  for (int64_t run = 0; run < runs_max && goes_on; ++run) {
    std::vector<Array> given{Array{Element::integer, {}, {static_cast<double>(run)}}, Array{Element::boolean, {}, {1}}};
    given.insert(given.end(), carried.begin(), carried.end());
    COT_ASSIGN(Outputs made, run_body(call, *body, std::move(given)));
    COT_ASSIGN(goes_on, is_true(made[0]));
    for (size_t i = 0; i < carried_count; ++i) carried[i] = std::move(made[1 + i]);
    for (size_t i = 0; i < gathered.size(); ++i) COT_TRY(gathered[i].add(std::move(made[1 + carried_count + i])));
  }
  for (const Gathered& each : gathered) {
    COT_ASSIGN(Array tensor, each.tensor(0));
    carried.push_back(std::move(tensor));
  }
  return carried;
}

// What a Scan says of one of the tensors that it walks along, or gathers.
struct Walk {
  int64_t axis = 0;
  bool is_backward = false;
};

Result<std::vector<Walk>> walks_of(const Call& call, const char* axes, const char* directions, size_t count) {
  const std::vector<int64_t> axis = call.node.integers(axes), direction = call.node.integers(directions);
  if ((!axis.empty() && axis.size() != count) || (!direction.empty() && direction.size() != count))
    return bad_form(std::string(axes) + " or " + directions + " of the wrong length");
  std::vector<Walk> walks(count);
  for (size_t i = 0; i < count; ++i) walks[i] = {axis.empty() ? 0 : axis[i], !direction.empty() && direction[i] != 0};
  return walks;
}

// Operands: states, then tensors that the body is given a position of at a time. It makes states and what is gathered.
Result<Outputs> compute_scan(const Call& call) {
  if (call.opset < 9) return unknown_form("Scan of opset 8");
  COT_TRY(needs_operands(call, call.node.inputs.size()));
  COT_ASSIGN(const Graph* body, body_of(call, "body"));
  const int64_t walked_count = call.node.integer("num_scan_inputs", 0);
  if (walked_count < 1 || walked_count > static_cast<int64_t>(call.operands.size()))
    return bad_form("num_scan_inputs out of range");
  const size_t walked = static_cast<size_t>(walked_count), states = call.operands.size() - walked;
  if (body->outputs.size() < states) return bad_form("a body that does not make its states");
  const size_t made_count = body->outputs.size() - states;
  COT_ASSIGN(const auto in, walks_of(call, "scan_input_axes", "scan_input_directions", walked));
  COT_ASSIGN(const auto out, walks_of(call, "scan_output_axes", "scan_output_directions", made_count));
  Outputs carried;
  for (const Array* operand : call.operands) {
    if (operand->form != Form::tensor) return bad_form("an operand that is no tensor");
    if (carried.size() < states) carried.push_back(*operand);
  }
  std::vector<size_t> axes;
  int64_t length = -1;
  for (size_t i = 0; i < walked; ++i) {
    const Array& x = call.operand(states + i);
    COT_ASSIGN(const size_t axis, axis_of(in[i].axis, x.rank()));
    if (length >= 0 && x.shape[axis] != length) return bad_form("tensors of different lengths");
    length = x.shape[axis];
    axes.push_back(axis);
  }
  std::vector<Gathered> gathered(made_count);
  for (int64_t at = 0; at < length; ++at) {
    std::vector<Array> given = carried;
    for (size_t i = 0; i < walked; ++i) {
      COT_ASSIGN(Array part, at_position(call.operand(states + i), axes[i], in[i].is_backward ? length - 1 - at : at));
      given.push_back(std::move(part));
    }
    COT_ASSIGN(Outputs made, run_body(call, *body, std::move(given)));
    for (size_t i = 0; i < states; ++i) carried[i] = std::move(made[i]);
    for (size_t i = 0; i < made_count; ++i) COT_TRY(gathered[i].add(std::move(made[states + i])));
  }
  for (size_t i = 0; i < made_count; ++i) {
    if (out[i].is_backward) std::ranges::reverse(gathered[i].layers);
    COT_ASSIGN(Array tensor, gathered[i].tensor(out[i].axis));
    carried.push_back(std::move(tensor));
  }
  return carried;
}

}  // namespace

Operator control_operator(const std::string& op) {
  static const std::map<std::string, Operator> table = {
      {"If", compute_if}, {"Loop", compute_loop}, {"Scan", compute_scan}};
  return entry_of(table, op);
}

}  // namespace coterie::model_import
