#include "tools/debug/recorded_tensors.h"

#include <algorithm>
#include <bit>
#include <map>

#include "base/text/name_pattern.h"
#include "base/text/suggest.h"
#include "device_sdk/runtime/graph_index.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/shape_inference.h"
#include "tools/cli/table.h"
#include "tools/model/step_names.h"

namespace coterie {
namespace {

// A tensor has values, and a gradient: the last that was made, or what the optimizer got.
std::map<size_t, TensorView> views_by_slot(const StepRecord& record) {
  std::map<size_t, TensorView> views;
  for (const RecordedInput& input : record.inputs) {
    if (input.tensor != kNoTensor) views[slot_of(input.tensor, false)] = input.values;
  }
  for (const WatchedStep& step : record.program) {
    for (const auto& [tensor, view] : step.gradients) views[slot_of(tensor, true)] = view;
    for (const MadeTensor& made : step.made) views[slot_of(made.number, made.is_gradient)] = made.tensor;
  }
  return views;
}

class Namer {
 public:
  Namer(const Model& model, const StepRecord& record)
      : graph_(model.graph()),
        record_(record),
        views_(views_by_slot(record)),
        inferred_(infer_types(graph_, std::max<size_t>(record.examples.size(), 1))) {
    if (inferred_) names_.emplace(graph_, inferred_->types);
  }

  std::vector<NamedTensor> named() {
    for (const RecordedInput& input : record_.inputs) {
      if (input.tensor == kNoTensor) add("target", "", TensorKind::target, kNoTensor, input.values);
      else add_values(input.tensor, "", TensorKind::input);
    }
    std::vector<bool> is_done(graph_.tensors.size());
    for (const OpInfo& op : graph_.ops) {
      for (const uint32_t t : op.inputs) {
        if (t == kNoTensor || is_done[t] || !has_payload(graph_.tensors[t].role)) continue;
        is_done[t] = true;
        add_parameter(t, op.name);
      }
      for (const uint32_t t : op.outputs) {
        if (t != kNoTensor) add_values(t, op.name, TensorKind::output);
      }
    }
    return std::move(all_);
  }

 private:
  void add(const std::string& name, const std::string& op, TensorKind kind, uint32_t tensor, const TensorView& values) {
    const std::string shown = printable(name);
    const size_t times = ++times_[shown];
    NamedTensor& named = all_.emplace_back();
    named.name = times == 1 ? shown : shown + "#" + std::to_string(times);
    named.op = printable(op);
    named.kind = kind;
    named.tensor = tensor;
    named.values = values;
    named.shape = {static_cast<int64_t>(values.count)};
    if (tensor == kNoTensor || !inferred_) return;
    const Shape& shape = inferred_->types[tensor].shape;  // a gradient of some channels has fewer elements
    if (elements(shape) == values.count) named.shape = shape;
  }

  void add_gradient(uint32_t tensor, const std::string& op) {
    const auto gradient = views_.find(slot_of(tensor, true));
    if (gradient != views_.end()) {
      add(name_of(tensor) + ".grad", op, TensorKind::gradient, tensor, gradient->second);
    }
  }

  void add_values(uint32_t tensor, const std::string& op, TensorKind kind) {
    const auto values = views_.find(slot_of(tensor, false));
    if (values != views_.end()) add(name_of(tensor), op, kind, tensor, values->second);
    add_gradient(tensor, op);
  }

  // A failed step has parameters in front of it alone.
  void add_parameter(uint32_t tensor, const std::string& op) {
    const auto view_in = [&](std::span<const float> all) {
      const TensorInfo& info = graph_.tensors[tensor];
      return TensorView{ElementType::float32, all.data() + info.payload_offset / sizeof(float), elements(info.shape)};
    };
    if (!record_.behind.empty()) {
      add(name_of(tensor), op, TensorKind::parameter, tensor, view_in(record_.behind));
    }
    if (!record_.before.empty()) {
      add(name_of(tensor) + ".before", op, TensorKind::before, tensor, view_in(record_.before));
    }
    add_gradient(tensor, op);
  }

  std::string name_of(uint32_t tensor) const {
    return names_ ? names_->tensor(tensor) : "tensor " + std::to_string(tensor);
  }

  const ModelGraph& graph_;
  const StepRecord& record_;
  std::map<size_t, TensorView> views_;
  Result<InferredTypes> inferred_;
  std::optional<StepNames> names_;
  std::map<std::string, size_t> times_;
  std::vector<NamedTensor> all_;
};

}  // namespace

RecordedTensors::RecordedTensors(const Model& model, const StepRecord& record) : all_(Namer(model, record).named()) {}

std::vector<const NamedTensor*> RecordedTensors::matching(std::string_view pattern) const {
  std::vector<const NamedTensor*> found;
  for (const NamedTensor& tensor : all_) {
    if (name_matches(pattern, tensor.name) || name_matches(pattern, tensor.op)) found.push_back(&tensor);
  }
  return found;
}

Result<const NamedTensor*> RecordedTensors::find(std::string_view name) const {
  const auto exact = std::ranges::find(all_, name, &NamedTensor::name);
  if (exact != all_.end()) return &*exact;
  const NamedTensor* only = nullptr;
  size_t matches = 0;
  for (const NamedTensor& tensor : all_) {
    if (!name_matches(name, tensor.name)) continue;
    only = &tensor;
    matches += 1;
  }
  const std::string shown = "`" + printable(name) + "`";
  if (matches == 1) return only;
  if (matches > 1) {
    return Error(ErrorCode::invalid_argument,
                 shown + " matches " + counted(matches, "tensor") + "; `list " + printable(name) + "` names them");
  }
  std::vector<std::string> names;
  for (const NamedTensor& tensor : all_) names.push_back(tensor.name);
  return Error(ErrorCode::not_found,
               "this step has no tensor " + shown + or_meant(name, names) + "; `list` names those it has");
}

double value_at(const TensorView& tensor, uint64_t element) {
  switch (tensor.type) {
    case ElementType::float32: return static_cast<double>(static_cast<const float*>(tensor.data)[element]);
    case ElementType::float64: return static_cast<const double*>(tensor.data)[element];
    case ElementType::int32: return static_cast<double>(static_cast<const int32_t*>(tensor.data)[element]);
    case ElementType::bfloat16: {
      const uint32_t bits = static_cast<uint32_t>(static_cast<const uint16_t*>(tensor.data)[element]) << 16;
      return static_cast<double>(std::bit_cast<float>(bits));
    }
  }
  return 0;
}

std::vector<double> values_of(const TensorView& tensor) {
  std::vector<double> values(tensor.count);
  for (uint64_t i = 0; i < tensor.count; ++i) values[i] = value_at(tensor, i);
  return values;
}

}  // namespace coterie
