// What is there twice, what is known before anything runs, and what nobody needs.
#include <algorithm>

#include "device_sdk/runtime/predictor.h"
#include "device_sdk/runtime/rebuild_model.h"
#include "tools/optimise/pass.h"

namespace coterie {
namespace {

constexpr size_t kFoldedElementsMin = 1024;  // a result of so many is worth its bytes, however few it is made of

// Whether it may run once in place of twice: in training each dropout draws, and each norm moves its statistics.
bool is_repeatable(const PassGraph& graph, const OpInfo& op) {
  return graph.use() == ModelUse::predict || (op.kind != OpKind::dropout && op.kind != OpKind::batch_norm);
}

// An earlier op that computes the same.
bool share_op(PassGraph& graph, uint32_t i) {
  const OpInfo& op = graph.op(i);
  if (!is_repeatable(graph, op)) return false;
  for (uint32_t k = 0; k < i; ++k) {
    const OpInfo& other = graph.op(k);
    if (!graph.is_needed(k) || other.kind != op.kind || other.inputs != op.inputs ||
        other.outputs.size() != op.outputs.size() || other.attributes != op.attributes) {
      continue;
    }
    // All or none: an op that does nothing leaves no read changed, for nobody refreshes the graph behind it.
    bool has_all = true;
    for (size_t at = 0; at < op.outputs.size(); ++at) {
      has_all &= op.outputs[at] == kNoTensor || other.outputs[at] != kNoTensor;
    }
    if (!has_all) continue;
    bool is_shared = false;
    for (size_t at = 0; at < op.outputs.size(); ++at) {
      if (op.outputs[at] != kNoTensor) is_shared |= graph.read_instead(op.outputs[at], other.outputs[at]);
    }
    return is_shared;
  }
  return false;
}

bool is_same_constant(const TensorInfo& a, const TensorInfo& b) {
  return b.role == TensorRole::constant && a.type == b.type && a.shape == b.shape && a.data == b.data;
}

bool share_constants(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  bool is_shared = false;
  for (uint32_t& input : op.inputs) {
    if (input == kNoTensor || graph.tensor(input).role != TensorRole::constant) continue;
    for (uint32_t other = 0; other < input; ++other) {
      if (!is_same_constant(graph.tensor(input), graph.tensor(other))) continue;
      input = other;
      is_shared = true;
      break;
    }
  }
  return is_shared;
}

// What the op makes of known operands, by the kernels that would run it: a model of it alone, whose input counts its
// rows and nothing else.
std::optional<std::vector<float>> computed(const PassGraph& graph, const OpInfo& op) {
  ModelGraph alone{.name = "known"};
  std::vector<float> payload;
  const auto add = [&](TensorInfo tensor) {
    alone.tensors.push_back(std::move(tensor));
    return static_cast<uint32_t>(alone.tensors.size() - 1);
  };
  OpInfo own = op;
  for (uint32_t& input : own.inputs) {
    if (input == kNoTensor) continue;
    TensorInfo tensor = graph.tensor(input);
    if (has_payload(tensor.role)) {
      const std::vector<float> values = graph.values(input);
      tensor.payload_offset = payload.size() * sizeof(float);
      payload.insert(payload.end(), values.begin(), values.end());
    }
    input = add(std::move(tensor));
  }
  const auto count = static_cast<int64_t>(elements(graph.shape(op.outputs[0])));
  const uint32_t rows = add({.name = "rows", .role = TensorRole::input, .shape = {1}});
  const uint32_t one = add({.name = "one", .role = TensorRole::parameter, .shape = {1}});
  const uint32_t zeros = add({.name = "zeros"}), made = add({.name = "made"}), flat = add({.name = "flat"}),
                 row = add({.name = "row"});
  alone.tensors[one].payload_offset = payload.size() * sizeof(float);
  payload.push_back(1);
  own.outputs = {made};
  alone.inputs = {rows};
  alone.ops = {own,
               {OpKind::reshape, "flat", {made}, {flat}, ShapeAttributes{{1, count}}},
               {OpKind::equal, "equal", {rows, one}, {zeros}, {}},
               {OpKind::where, "where", {zeros, flat, flat}, {row}, {}}};
  alone.output = row;
  const Result<Model> model = rebuild_model(std::move(alone), payload);
  if (!model) return std::nullopt;
  Result<Predictor> predictor = Predictor::create(*model, 1, limits::kArenaBytesMax, 1, nullptr, Optimisation::none);
  std::vector<float> values(static_cast<size_t>(count));
  const float input[] = {0};
  const std::span<const float> inputs[] = {input};
  if (!predictor || !predictor->run(inputs, 1, values)) return std::nullopt;
  return values;
}

bool fold_known(PassGraph& graph, uint32_t i) {
  const OpInfo& op = graph.op(i);
  if (op.outputs.size() != 1 || graph.is_output(op.outputs[0]) || graph.type(op.outputs[0]) != DataType::float32 ||
      !is_repeatable(graph, op)) {
    return false;
  }
  const Shape& shape = graph.shape(op.outputs[0]);
  if (!std::ranges::all_of(shape, [](int64_t size) { return size > 0; })) return false;
  uint64_t read = kFoldedElementsMin;
  for (const uint32_t input : op.inputs) {
    if (input == kNoTensor) continue;
    if (!graph.is_known(input)) return false;
    read = std::max(read, elements(graph.shape(input)));
  }
  if (elements(shape) > read) return false;
  const std::optional<std::vector<float>> values = computed(graph, op);
  if (!values) return false;
  const auto known = graph.add_known(op.name, shape, *values);
  return known && graph.read_instead(op.outputs[0], *known);
}

using enum Optimisation;

constexpr Pass kRows[] = {
    {"dead-ops", exact, exact, "ops and parameters that the output does not depend on are left out"},
    {"equal-constants", exact, exact, "constants of the same bytes are one", share_constants},
    {"known-results", exact, exact,
     "what is computed from constants alone is computed now, of prediction also from parameters", fold_known},
    {"common-ops", exact, rounding, "ops of one kind with the same operands and attributes are one", share_op},
};

}  // namespace

const std::span<const Pass> passes_of::shared = kRows;

}  // namespace coterie
