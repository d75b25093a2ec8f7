#include "proto/messages/personal_part.h"

#include <algorithm>
#include <string>

#include "base/text/name_pattern.h"
#include "proto/messages/model_clusters.h"
#include "proto/messages/plan.h"

namespace coterie {
namespace {

constexpr size_t kScaleInput = 1, kShiftInput = 2, kMeanInput = 3, kVarianceInput = 4;  // of batch_norm (OpKind)

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, "training: personal: " + what); }

uint32_t input_of(const OpInfo& op, size_t input) { return input < op.inputs.size() ? op.inputs[input] : kNoTensor; }

// Marks the parameters that a pattern or `norms` names.
std::vector<bool> named_parameters(const ModelGraph& graph, const PersonalSettings& settings) {
  std::vector<bool> named(graph.tensors.size());
  const auto add = [&](uint32_t tensor) {
    if (tensor != kNoTensor && graph.tensors[tensor].role == TensorRole::parameter) named[tensor] = true;
  };
  for (uint32_t i = 0; i < graph.tensors.size(); ++i) {
    const auto matches = [&](const std::string& pattern) { return name_matches(pattern, graph.tensors[i].name); };
    if (std::ranges::any_of(settings.parameters, matches)) add(i);
  }
  for (const OpInfo& op : graph.ops) {
    if (!settings.norms || op.kind != OpKind::batch_norm) continue;
    add(input_of(op, kScaleInput));
    add(input_of(op, kShiftInput));
  }
  return named;
}

bool is_named(const std::vector<bool>& named, uint32_t tensor) { return tensor != kNoTensor && named[tensor]; }

// Adds the running statistics of the norms that are the device's own.
void add_statistics(const ModelGraph& graph, const PersonalSettings& settings, std::vector<bool>& named) {
  const std::vector<bool> parameters = named;
  for (const OpInfo& op : graph.ops) {
    if (op.kind != OpKind::batch_norm) continue;
    const bool is_own = settings.norms || is_named(parameters, input_of(op, kScaleInput)) ||
                        is_named(parameters, input_of(op, kShiftInput));
    for (const size_t input : {kMeanInput, kVarianceInput}) {
      const uint32_t tensor = input_of(op, input);
      if (is_own && tensor != kNoTensor && graph.tensors[tensor].role == TensorRole::state) named[tensor] = true;
    }
  }
}

Status check_names(const ModelGraph& graph, const PersonalSettings& settings) {
  for (const std::string& pattern : settings.parameters) {
    const bool found = std::ranges::any_of(graph.tensors, [&](const TensorInfo& tensor) {
      return tensor.role == TensorRole::parameter && name_matches(pattern, tensor.name);
    });
    if (!found) return bad(pattern + " matches no parameter of the model");
  }
  const bool has_norm = std::ranges::any_of(graph.ops, [](const OpInfo& op) { return op.kind == OpKind::batch_norm; });
  return settings.norms && !has_norm ? bad("norms: the model has no batch norm") : Status();
}

bool has_part(const TrainingSettings& training) {
  return training.personal && training.personal->kind == PersonalKind::part;
}

Result<std::vector<bool>> personal_tensors_of(const ModelGraph& graph, const TrainingSettings& training) {
  COT_ASSIGN(const std::vector<bool> trained,
             trained_tensors(graph, {training.freeze, training.train_only, training.train_last}));
  return personal_tensors(graph, *training.personal, trained);
}

std::vector<bool> named_tensors(const ModelGraph& graph, const PersonalSettings& settings) {
  std::vector<bool> named = named_parameters(graph, settings);
  add_statistics(graph, settings, named);
  return named;
}

bool is_at(const TensorInfo& tensor, uint64_t value) { return tensor.payload_offset / sizeof(float) == value; }

}  // namespace

Result<std::vector<bool>> personal_tensors(const ModelGraph& graph, const PersonalSettings& settings,
                                           const std::vector<bool>& trained) {
  if (settings.kind != PersonalKind::part) return std::vector<bool>(graph.tensors.size());
  COT_TRY(check_names(graph, settings));
  const std::vector<bool> personal = named_tensors(graph, settings);
  bool has_own = false, has_shared = false;
  for (size_t i = 0; i < personal.size(); ++i) {
    const bool changes = graph.tensors[i].role != TensorRole::parameter || trained[i];
    has_own = has_own || (personal[i] && changes);
    has_shared = has_shared || (trained[i] && !personal[i]);
  }
  if (!has_own) return bad("what it names is frozen, so that a device would keep nothing");
  if (!has_shared) return bad("every parameter that is trained is the device's own, and nothing is left to share");
  return personal;
}

Result<ValueSelection> personal_values(const ModelGraph& graph, const TrainingSettings& training,
                                       uint64_t model_values) {
  if (!training.personal || training.personal->kind == PersonalKind::clusters) return ValueSelection({});
  if (!has_part(training)) return ValueSelection::all(model_values);
  COT_ASSIGN(const std::vector<bool> personal, personal_tensors_of(graph, training));
  std::vector<ValueRange> ranges;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (!personal[i]) continue;
    COT_ASSIGN(const uint64_t count, element_count(graph.tensors[i].shape));
    ranges.push_back({graph.tensors[i].payload_offset / sizeof(float), count});
  }
  return ValueSelection(std::move(ranges));
}

Result<std::vector<std::string>> personal_parameter_names(const ModelGraph& graph, const TrainingSettings& training) {
  std::vector<std::string> names;
  if (!has_part(training)) return names;
  COT_ASSIGN(const std::vector<bool> personal, personal_tensors_of(graph, training));
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (personal[i] && graph.tensors[i].role == TensorRole::parameter) names.push_back(graph.tensors[i].name);
  }
  return names;
}

std::vector<RunningStatistics> shared_statistics(const ModelGraph& graph, const TrainingSettings& training) {
  std::vector<RunningStatistics> all = running_statistics(graph);
  if (!has_part(training)) return all;
  const std::vector<bool> named = named_tensors(graph, *training.personal);
  std::erase_if(all, [&](const RunningStatistics& norm) {
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      const TensorInfo& tensor = graph.tensors[i];
      const bool is_own = named[i] && tensor.role == TensorRole::state;
      if (is_own && (is_at(tensor, norm.mean) || is_at(tensor, norm.variance))) return true;
    }
    return false;
  });
  return all;
}

}  // namespace coterie
