#include "device_sdk/runtime/delegate/partition.h"

#include <algorithm>
#include <cstdio>
#include <queue>

#include "device_sdk/runtime/delegate/fence.h"
#include "device_sdk/runtime/graph_index.h"
#include "device_sdk/runtime/needed_gradients.h"
#include "device_sdk/runtime/shape_inference.h"

namespace coterie {
namespace {

// Backward of a layer multiplies twice what its forward does: for its inputs and for its weights.
constexpr double kTrainingPasses = 3;

std::string microseconds(double nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g us", nanoseconds / 1e3);
  return text;
}

void add_once(std::vector<uint32_t>& sorted, uint32_t value) {
  const auto at = std::ranges::lower_bound(sorted, value);
  if (at == sorted.end() || *at != value) sorted.insert(at, value);
}

class Partitioner {
 public:
  Partitioner(const Model& model, const Delegate& delegate, DelegateTraits traits, const PartitionSettings& settings,
              InferredTypes types)
      : model_(model),
        graph_(model.graph()),
        delegate_(delegate),
        traits_(std::move(traits)),
        settings_(settings),
        inferred_(std::move(types)),
        trained_(settings.is_trained.empty() ? trained_by_default(graph_) : settings.is_trained),
        view_{graph_, inferred_.types, model.parameters(), settings.trains ? &trained_ : nullptr},
        index_(graph_),
        needs_gradient_(graph_.tensors.size()),
        is_settled_(graph_.tensors.size()),
        reasons_(graph_.ops.size()),
        group_(graph_.ops.size(), kNoOp),
        members_(graph_.ops.size()) {}

  Partition run() {
    find_settled();
    if (settings_.trains) {
      needs_gradient_ = trained_;
      spread_needed_gradients(graph_, index_, inferred_.types, needs_gradient_);
    }
    for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
      if (!index_.is_needed[i]) continue;
      found_.flops += inferred_.op_flops[i];
      reasons_[i] = reason_of(i);
      if (!reasons_[i].empty()) continue;
      group_[i] = i;
      members_[i] = {i};
      merge_with_makers(i);
    }
    for (const std::vector<uint32_t>& ops : members_) {
      if (!ops.empty()) keep_if_it_pays(ops);
    }
    std::ranges::sort(found_.parts, {}, [](const PlannedPart& part) { return part.ops.front(); });
    for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
      if (index_.is_needed[i] && !reasons_[i].empty()) found_.own.push_back({i, reasons_[i]});
    }
    return std::move(found_);
  }

 private:
  // What our compiler computes once (prepared.h): a part may read none of it but what is stored.
  void find_settled() {
    for (uint32_t i = 0; i < graph_.tensors.size(); ++i) is_settled_[i] = view_.is_stored(i) && !view_.is_trained(i);
    for (const OpInfo& op : graph_.ops) {
      if (!is_settled(op) || (settings_.trains && op.kind == OpKind::dropout)) continue;
      for (const uint32_t tensor : op.outputs) {
        if (tensor != kNoTensor) is_settled_[tensor] = true;
      }
    }
  }
  bool is_settled(const OpInfo& op) const {
    return std::ranges::all_of(op.inputs, [&](uint32_t t) { return t == kNoTensor || is_settled_[t]; });
  }

  std::string reason_of(uint32_t i) const {
    const OpInfo& op = graph_.ops[i];
    if (std::string reason = settings_.trains ? reason_of_training(op) : ""; !reason.empty()) return reason;
    if (is_settled(op)) return "it is computed once, from values that never change";
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const uint32_t tensor : *list) {
        if (tensor == kNoTensor) continue;
        if (std::string reason = reason_of_tensor(tensor); !reason.empty()) return reason;
      }
    }
    std::string reason;
    const Status asked = fenced([&]() -> Status {
      reason = delegate_.refusal(view_, i);
      return {};
    });
    return asked ? reason : asked.error().message();
  }
  // What computes something else in a training, or what no gradient goes through.
  std::string reason_of_training(const OpInfo& op) const {
    if (!traits_.computes_backward) return traits_.name + " computes no backward";
    if (!settings_.own_reason.empty()) return settings_.own_reason;
    if (op.kind == OpKind::dropout) return "it drops units at random in a training";
    const bool is_norm = op.kind == OpKind::batch_norm;
    if (is_norm && !settings_.freezes_statistics && !std::get<NormAttributes>(op.attributes).is_frozen) {
      return "its statistics follow the batches of a training";
    }
    const auto needs = [&](uint32_t tensor) { return tensor != kNoTensor && needs_gradient_[tensor]; };
    const bool has_none = rule_of(op.kind)->backward == nullptr && std::ranges::any_of(op.inputs, needs);
    return has_none ? "no gradient goes through it" : "";
  }
  std::string reason_of_tensor(uint32_t tensor) const {
    const std::string& name = graph_.tensors[tensor].name;
    if (view_.types[tensor].type != DataType::float32) return "tensor " + name + " is not float32";
    if (view_.is_stored(tensor)) return {};
    if (is_settled_[tensor]) return "tensor " + name + " is computed once, from values that never change";
    const Shape& shape = model_.shape(tensor);
    const bool is_model_input = graph_.tensors[tensor].role == TensorRole::input;
    const bool has_batch_in_front =
        is_model_input || (!shape.empty() && shape[0] == -1 &&
                           std::all_of(shape.begin() + 1, shape.end(), [](int64_t size) { return size > 0; }));
    return has_batch_in_front ? std::string() : "the batch is not the first dimension of tensor " + name;
  }

  void merge_with_makers(uint32_t op) {
    for (const uint32_t tensor : graph_.ops[op].inputs) {
      const uint32_t maker = tensor == kNoTensor ? kNoOp : index_.producer[tensor];
      if (maker == kNoOp || group_[maker] == kNoOp || group_[maker] == group_[op]) continue;
      if (!meets_again(group_[maker], group_[op])) merge(group_[maker], group_[op]);
    }
  }
  void merge(uint32_t kept, uint32_t gone) {
    for (const uint32_t op : members_[gone]) group_[op] = kept;
    members_[kept].insert(members_[kept].end(), members_[gone].begin(), members_[gone].end());
    members_[gone].clear();
  }

  // Whether a path leads from the one group through something else to the other: as one they would not be convex. Other
  // groups count as one step each, which they will be.
  bool meets_again(uint32_t from, uint32_t to) const {
    std::vector<bool> seen(graph_.ops.size());
    std::vector<uint32_t> waiting;
    const auto go_on_behind = [&](const std::vector<uint32_t>& ops, bool is_first) {
      for (const uint32_t op : ops) {
        for (const uint32_t tensor : graph_.ops[op].outputs) {
          if (tensor == kNoTensor) continue;
          for (const uint32_t reader : index_.consumers[tensor]) {
            if (reader == kNoOp || seen[reader] || group_[reader] == from) continue;
            if (is_first && group_[reader] == to) continue;  // the direct way
            seen[reader] = true;
            waiting.push_back(reader);
          }
        }
      }
    };
    go_on_behind(members_[from], true);
    while (!waiting.empty()) {
      const uint32_t op = waiting.back();
      waiting.pop_back();
      if (group_[op] == to) return true;
      if (group_[op] == kNoOp) {
        go_on_behind({op}, false);
        continue;
      }
      for (const uint32_t member : members_[group_[op]]) seen[member] = true;
      go_on_behind(members_[group_[op]], false);
    }
    return false;
  }

  void keep_if_it_pays(const std::vector<uint32_t>& ops) {
    PlannedPart part;
    part.ops = ops;
    std::ranges::sort(part.ops);
    const uint32_t group = group_[ops.front()];
    for (const uint32_t op : part.ops) {
      part.flops += inferred_.op_flops[op];
      for (const uint32_t tensor : graph_.ops[op].inputs) {
        if (tensor != kNoTensor && view_.is_trained(tensor)) add_once(part.parameters, tensor);
        if (tensor == kNoTensor || view_.is_stored(tensor)) continue;
        const uint32_t maker = index_.producer[tensor];
        if (maker == kNoOp || group_[maker] != group) add_once(part.inputs, tensor);
      }
      for (const uint32_t tensor : graph_.ops[op].outputs) {
        if (tensor != kNoTensor && is_read_outside(tensor, group)) add_once(part.outputs, tensor);
      }
    }
    if (settings_.trains) add_gradients(part);
    const auto bytes_of = [&](const std::vector<uint32_t>& tensors) {
      uint64_t bytes = 0;
      for (const uint32_t tensor : tensors) bytes += elements(view_.shape(tensor)) * kElementBytes;
      return bytes;
    };
    part.input_bytes = bytes_of(part.inputs) + bytes_of(part.parameters) + bytes_of(part.output_gradients);
    part.output_bytes = bytes_of(part.outputs) + bytes_of(part.gradients);
    const double runs = part.gradients.empty() ? 1 : 2, passes = part.gradients.empty() ? 1 : kTrainingPasses;
    part.saved_nanoseconds = passes * part.flops * traits_.saved_nanoseconds_per_flop;
    part.border_nanoseconds = runs * traits_.launch_nanoseconds +
                              static_cast<double>(part.input_bytes + part.output_bytes) * traits_.nanoseconds_per_byte;
    if (settings_.takes_whatever_cost || part.saved_nanoseconds > part.border_nanoseconds) {
      found_.parts.push_back(std::move(part));
      return;
    }
    for (const uint32_t op : part.ops) {
      reasons_[op] = "its part of " + std::to_string(part.ops.size()) + " would save about " +
                     microseconds(part.saved_nanoseconds) + ", and its border costs " +
                     microseconds(part.border_nanoseconds);
    }
  }
  void add_gradients(PlannedPart& part) const {
    const auto take = [&](const std::vector<uint32_t>& from, std::vector<uint32_t>& into) {
      for (const uint32_t tensor : from) {
        if (needs_gradient_[tensor]) add_once(into, tensor);
      }
    };
    take(part.outputs, part.output_gradients);
    take(part.inputs, part.gradients);
    take(part.parameters, part.gradients);
  }
  bool is_read_outside(uint32_t tensor, uint32_t group) const {
    return std::ranges::any_of(index_.consumers[tensor],
                               [&](uint32_t reader) { return reader == kNoOp || group_[reader] != group; });
  }

  const Model& model_;
  const ModelGraph& graph_;
  const Delegate& delegate_;
  const DelegateTraits traits_;
  const PartitionSettings& settings_;
  const InferredTypes inferred_;
  const std::vector<bool> trained_;  // per tensor, of a training
  const DelegateGraph view_;
  const GraphIndex index_;
  std::vector<bool> needs_gradient_;            // per tensor; of a training
  std::vector<bool> is_settled_;                // per tensor
  std::vector<std::string> reasons_;            // per op: why it is ours
  std::vector<uint32_t> group_;                 // per op: the first op of its group, or kNoOp
  std::vector<std::vector<uint32_t>> members_;  // per such first op
  Partition found_;
};

}  // namespace

std::vector<bool> trained_by_default(const ModelGraph& graph) {
  std::vector<bool> trained;
  for (const TensorInfo& tensor : graph.tensors) {
    trained.push_back(tensor.role == TensorRole::parameter && !tensor.is_frozen);
  }
  return trained;
}

Result<Partition> partition(const Model& model, const Delegate& delegate, const PartitionSettings& settings) {
  COT_ASSIGN(InferredTypes inferred, infer_types(model.graph(), settings.batch_size));
  COT_ASSIGN(DelegateTraits traits, traits_of(delegate));
  return Partitioner(model, delegate, std::move(traits), settings, std::move(inferred)).run();
}

std::vector<uint32_t> order_around(const ModelGraph& graph, const std::vector<const PlannedPart*>& parts) {
  const GraphIndex index(graph);
  const auto ops = static_cast<uint32_t>(graph.ops.size());
  std::vector<uint32_t> unit_of(ops);  // an op by itself, or its part
  for (uint32_t i = 0; i < ops; ++i) unit_of[i] = i;
  for (uint32_t i = 0; i < parts.size(); ++i) {
    for (const uint32_t op : parts[i]->ops) unit_of[op] = ops + i;
  }
  // Kahn's algorithm: of the units that wait for nothing, the one that comes first in the graph.
  std::vector<uint32_t> waits(ops + parts.size());
  std::vector<std::vector<uint32_t>> behind(waits.size());
  for (uint32_t i = 0; i < ops; ++i) {
    if (!index.is_needed[i]) continue;
    for (const uint32_t tensor : graph.ops[i].inputs) {
      const uint32_t maker = tensor == kNoTensor ? kNoOp : index.producer[tensor];
      if (maker == kNoOp || unit_of[maker] == unit_of[i]) continue;
      behind[unit_of[maker]].push_back(unit_of[i]);
      ++waits[unit_of[i]];
    }
  }
  const auto first_op = [&](uint32_t unit) { return unit < ops ? unit : parts[unit - ops]->ops.front(); };
  const auto is_later = [&](uint32_t a, uint32_t b) { return first_op(a) > first_op(b); };
  std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(is_later)> ready(is_later);
  for (uint32_t unit = 0; unit < waits.size(); ++unit) {
    const bool is_unit = unit >= ops || (index.is_needed[unit] && unit_of[unit] == unit);
    if (is_unit && waits[unit] == 0) ready.push(unit);
  }
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    const uint32_t unit = ready.top();
    ready.pop();
    order.push_back(unit);
    for (const uint32_t next : behind[unit]) {
      if (--waits[next] == 0) ready.push(next);
    }
  }
  return order;
}

}  // namespace coterie
