#include "device_sdk/watch/watched_tensors.h"

#include <algorithm>

#include "base/text/name_pattern.h"
#include "device_sdk/runtime/fusion.h"
#include "proto/messages/model_outputs.h"

namespace coterie {
namespace {

bool is_relu(OpKind kind) { return kind == OpKind::relu || kind == OpKind::relu6; }

bool is_activation(OpKind kind) { return is_relu(kind) || kind == OpKind::sigmoid || kind == OpKind::tanh; }

bool is_for(Subject subject, OpKind kind) {
  if (subject == Subject::relu) return is_relu(kind);
  if (subject == Subject::activation) return is_activation(kind);
  return subject == Subject::tensor;
}

bool is_judged_at_first(const TensorInfo& tensor, const WatchPlan& plan) {
  return tensor.shape.size() >= 2 && std::ranges::none_of(plan.zero_at_first, [&](const std::string& pattern) {
           return name_matches(pattern, tensor.name);
         });
}

}  // namespace

WatchedTensors::WatchedTensors(const Model& model, const WatchPlan& plan, const std::vector<bool>& is_trained)
    : model_(model),
      plan_(plan),
      index_(model.graph()),
      index_of_all_(model.graph(), further_outputs(model.graph())),
      outputs_(model.graph().tensors.size()),
      weights_(outputs_.size()),
      starts_(outputs_.size()),
      gradients_(outputs_.size()),
      ops_(model.graph().ops.size()) {
  const ModelGraph& graph = model.graph();
  for (uint32_t t = 0; t < is_trained.size(); ++t) {
    if (is_trained[t] && graph.tensors[t].role == TensorRole::parameter) trained_.push_back(t);
  }
  for (size_t c = 0; c < plan.checks.size(); ++c) {
    const WatchedCheck& watched = plan.checks[c];
    const Subject subject = watched.check->subject;
    const auto matches = [&](const OpInfo* op, const std::string& tensor) {
      if (!watched.op.empty() && (op == nullptr || to_string(op->kind) != watched.op)) return false;
      return name_matches(watched.tensors, tensor) || (op != nullptr && name_matches(watched.tensors, op->name));
    };
    for (size_t o = 0; o < graph.ops.size(); ++o) {
      const OpInfo& op = graph.ops[o];
      if (subject == Subject::op && matches(&op, op.name)) ops_[o].push_back(c);
      if (!is_for(subject, op.kind)) continue;
      for (const uint32_t t : op.outputs) {
        if (t != kNoTensor && matches(&op, graph.tensors[t].name)) outputs_[t].push_back(c);
      }
    }
    if (subject != Subject::weight && subject != Subject::initial && subject != Subject::gradient) continue;
    std::vector<Checks>& to = subject == Subject::weight    ? weights_
                              : subject == Subject::initial ? starts_
                                                            : gradients_;
    for (const uint32_t t : trained_) {
      if (subject == Subject::initial && !is_judged_at_first(graph.tensors[t], plan)) continue;
      const auto& readers = index_of_all_.consumers[t];
      const OpInfo* const op = readers.empty() || readers[0] == kNoOp ? nullptr : &graph.ops[readers[0]];
      if (matches(op, graph.tensors[t].name)) to[t].push_back(c);
    }
  }
}

bool WatchedTensors::has(Subject subject) const {
  return std::ranges::any_of(plan_.checks, [&](const WatchedCheck& w) { return w.check->subject == subject; });
}

std::optional<size_t> WatchedTensors::idle_check() const {
  std::vector<bool> is_idle(plan_.checks.size());
  for (size_t c = 0; c < is_idle.size(); ++c) is_idle[c] = is_of_tensors(plan_.checks[c].check->subject);
  for (const auto* lists : {&outputs_, &weights_, &starts_, &gradients_, &ops_}) {
    for (const Checks& checks : *lists) {
      for (const size_t c : checks) is_idle[c] = false;
    }
  }
  const auto found = std::ranges::find(is_idle, true);
  return found == is_idle.end() ? std::nullopt : std::optional(static_cast<size_t>(found - is_idle.begin()));
}

// A check of an op is asked of each tensor that the op makes, backward's gradients of what it reads among them.
uint64_t WatchedTensors::pairs() const {
  uint64_t pairs = 0;
  for (const auto* lists : {&outputs_, &weights_, &starts_, &gradients_}) {
    for (const Checks& checks : *lists) pairs += checks.size();
  }
  for (size_t o = 0; o < ops_.size(); ++o) {
    const OpInfo& op = model_.graph().ops[o];
    pairs += ops_[o].size() * (2 * op.outputs.size() + op.inputs.size());
  }
  return pairs;
}

WatchedTensors::Checks WatchedTensors::of_training(Subject subject) const {
  Checks checks;
  for (size_t c = 0; c < plan_.checks.size(); ++c) {
    if (plan_.checks[c].check->subject == subject) checks.push_back(c);
  }
  return checks;
}

std::string WatchedTensors::tensor_name(uint32_t tensor) const {
  const std::string& name = model_.graph().tensors[tensor].name;
  return name.empty() ? "tensor " + std::to_string(tensor) : name;
}

WatchedTensors::Name WatchedTensors::name_of_output(uint32_t tensor) const {
  const uint32_t op = index_.producer[tensor];
  return {op == kNoOp ? "" : name_of_op(op), tensor_name(tensor)};
}

WatchedTensors::Name WatchedTensors::name_of_weight(uint32_t tensor) const {
  const auto& readers = index_of_all_.consumers[tensor];
  return {readers.empty() || readers[0] == kNoOp ? "" : name_of_op(readers[0]), tensor_name(tensor)};
}

WatchedTensors::Name WatchedTensors::name_of_gradient(uint32_t tensor) const {
  Name name =
      model_.graph().tensors[tensor].role == TensorRole::parameter ? name_of_weight(tensor) : name_of_output(tensor);
  name.tensor = "gradient of " + name.tensor;
  return name;
}

// is_fusable says which ops may be computed as one. Where they are, the op behind has no buffer of its own.
uint32_t WatchedTensors::shown_in(uint32_t tensor, const std::vector<bool>& is_there) const {
  const ModelGraph& graph = model_.graph();
  uint32_t shown = tensor;
  for (;;) {
    const uint32_t maker = index_.producer[shown];
    if (maker == kNoOp || !index_.has_one_reader(shown)) return shown;
    const uint32_t reader = index_.consumers[shown][0];
    if (reader == kNoOp) return shown;
    const OpInfo& next = graph.ops[reader];
    if (!is_fusable(graph.ops[maker].kind, next.kind) || is_there[next.outputs[0]]) return shown;
    shown = next.outputs[0];
  }
}

}  // namespace coterie
