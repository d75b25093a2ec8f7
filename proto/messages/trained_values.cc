#include "proto/messages/trained_values.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/text/concat.h"
#include "base/text/name_pattern.h"
#include "proto/messages/model_clusters.h"
#include "proto/messages/personal_part.h"
#include "proto/messages/plan.h"

namespace coterie {
namespace {

Error bad(std::string_view what) { return Error(ErrorCode::invalid_argument, concat({"training: ", what})); }

// Marks the tensors that some pattern matches; an error names the pattern that matches none.
Result<std::vector<bool>> matching(const ModelGraph& graph, std::span<const std::string> patterns,
                                   const std::string& option) {
  std::vector<bool> matches(graph.tensors.size());
  for (const std::string& pattern : patterns) {
    bool found = false;
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      if (graph.tensors[i].role != TensorRole::parameter || !name_matches(pattern, graph.tensors[i].name)) continue;
      matches[i] = found = true;
    }
    if (!found) return bad(concat({option, " ", pattern, " matches no parameter of the model"}));
  }
  return matches;
}

// Marks the tensors that the last `layers` ops with parameters read, in the graph's order.
Result<std::vector<bool>> last_layers(const ModelGraph& graph, uint32_t layers) {
  std::vector<bool> found(graph.tensors.size());
  uint32_t seen = 0;
  for (size_t i = graph.ops.size(); i-- > 0 && seen < layers;) {
    bool has_parameters = false;
    for (const uint32_t tensor : graph.ops[i].inputs) {
      if (tensor == kNoTensor || graph.tensors[tensor].role != TensorRole::parameter) continue;
      found[tensor] = has_parameters = true;
    }
    seen += has_parameters ? 1 : 0;
  }
  if (seen < layers) {
    return bad(concat({"train_last is ", layers, ", the model has ", seen, " layers with parameters"}));
  }
  return found;
}

ParameterChoice choice_of(const TrainingSettings& training) {
  return {.freeze = training.freeze, .train_only = training.train_only, .train_last = training.train_last};
}

std::vector<ValueRange> values_of(std::span<const RunningStatistics> statistics) {
  std::vector<ValueRange> ranges;
  for (const RunningStatistics& norm : statistics) {
    ranges.push_back({norm.mean, norm.channels});
    ranges.push_back({norm.variance, norm.channels});
  }
  return ranges;
}

// `trained`: trained_tensors of the same.
Result<ValueSelection> selection_of(const ModelGraph& graph, const TrainingSettings& training,
                                    const std::vector<bool>& trained) {
  std::vector<bool> personal(graph.tensors.size());
  if (training.personal) {
    COT_ASSIGN(personal, personal_tensors(graph, *training.personal, trained));
  }
  std::vector<ValueRange> ranges = values_of(shared_statistics(graph, training));
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (!trained[i] || personal[i]) continue;
    COT_ASSIGN(const uint64_t count, element_count(graph.tensors[i].shape));
    ranges.push_back({graph.tensors[i].payload_offset / sizeof(float), count});
  }
  return ValueSelection(std::move(ranges));
}

}  // namespace

Result<std::vector<bool>> trained_tensors(const ModelGraph& graph, const ParameterChoice& choice) {
  COT_ASSIGN(const std::vector<bool> frozen, matching(graph, choice.freeze, "freeze"));
  COT_ASSIGN(std::vector<bool> wanted, matching(graph, choice.train_only, "train_only"));
  if (choice.train_last > 0) {
    if (!choice.train_only.empty()) return bad("train_last and train_only exclude each other");
    COT_ASSIGN(wanted, last_layers(graph, choice.train_last));
  }
  const bool names_all = choice.train_only.empty() && choice.train_last == 0;
  std::vector<bool> trained(graph.tensors.size());
  bool any = false;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorInfo& tensor = graph.tensors[i];
    if (tensor.role != TensorRole::parameter || frozen[i]) continue;
    trained[i] = names_all ? !tensor.is_frozen : wanted[i];
    any = any || trained[i];
  }
  if (!any) return bad("every parameter is frozen, nothing is left to train");
  return trained;
}

ValueSelection::ValueSelection(std::vector<ValueRange> ranges) : ranges_(std::move(ranges)) {
  std::ranges::sort(ranges_, {}, &ValueRange::first);
  for (const ValueRange& range : ranges_) count_ += range.count;
}

std::vector<ValueRange> ValueSelection::placed(std::span<const ValueRange> ranges) const {
  std::vector<ValueRange> places;
  uint64_t before = 0;  // selected values that lie before this range
  for (const ValueRange& selected : ranges_) {
    for (const ValueRange& range : ranges) {
      if (range.first < selected.first || range.first >= selected.first + selected.count) continue;
      COT_ASSERT(range.first + range.count <= selected.first + selected.count);
      places.push_back({before + range.first - selected.first, range.count});
    }
    before += selected.count;
  }
  return places;
}

std::vector<RunningStatistics> ValueSelection::placed(std::span<const RunningStatistics> statistics) const {
  std::vector<RunningStatistics> places;
  for (const RunningStatistics& norm : statistics) {
    const ValueRange mean{norm.mean, norm.channels}, variance{norm.variance, norm.channels};
    const std::vector<ValueRange> means = placed(std::span(&mean, 1)), variances = placed(std::span(&variance, 1));
    COT_ASSERT(means.size() == 1 && variances.size() == 1);  // every selection has those that move
    places.push_back({means[0].first, variances[0].first, norm.channels});
  }
  return places;
}

void ValueSelection::gather(std::span<const float> flat, std::span<float> values) const {
  COT_ASSERT(values.size() == count_);
  for (const ValueRange& range : ranges_) {
    std::ranges::copy(flat.subspan(range.first, range.count), values.begin());
    values = values.subspan(range.count);
  }
}

std::vector<float> ValueSelection::spread(std::span<const float> values, uint64_t size) const {
  COT_ASSERT(values.size() == count_);
  std::vector<float> flat(size);
  for (const ValueRange& range : ranges_) {
    std::ranges::copy(values.first(range.count), flat.begin() + static_cast<std::ptrdiff_t>(range.first));
    values = values.subspan(range.count);
  }
  return flat;
}

Result<ValueSelection> trained_values(const ModelGraph& graph, const TrainingSettings& training) {
  COT_ASSIGN(const std::vector<bool> trained, trained_tensors(graph, choice_of(training)));
  return selection_of(graph, training, trained);
}

namespace {

// The same values of each model.
Result<ValueSelection> of_each_cluster(const ModelGraph& graph, const TrainingSettings& training) {
  COT_ASSIGN(const ModelGraph one, graph_of_cluster(graph));
  COT_ASSIGN(const ValueSelection selection, trained_values(one, training));
  const uint64_t values = copy_bytes(graph) / sizeof(float);
  std::vector<ValueRange> ranges;
  for (uint32_t cluster = 0; cluster < cluster_count(graph); ++cluster) {
    for (const ValueRange& range : selection.ranges()) ranges.push_back({range.first + cluster * values, range.count});
  }
  return ValueSelection(std::move(ranges));
}

}  // namespace

uint64_t TrainedPart::count() const {
  uint64_t count = selection.count();
  for (const LoraPair& pair : pairs) count += pair.b_values();
  return count;
}

Result<TrainedPart> trained_part(const ModelGraph& graph, const TrainingSettings& training) {
  if (cluster_count(graph) > 1) {
    COT_ASSIGN(ValueSelection selection, of_each_cluster(graph, training));
    return TrainedPart{std::move(selection), {}};
  }
  if (!training.lora) {
    COT_ASSIGN(ValueSelection selection, trained_values(graph, training));
    return TrainedPart{std::move(selection), {}};
  }
  COT_ASSIGN(std::vector<LoraPair> pairs, lora_pairs(graph, *training.lora));
  return TrainedPart{ValueSelection(values_of(running_statistics(graph))), std::move(pairs)};
}

Result<uint64_t> trained_value_count(const ModelGraph& graph, const TrainingSettings& training) {
  if (cluster_count(graph) > 1) {
    COT_ASSIGN(const ModelGraph one, graph_of_cluster(graph));
    COT_ASSIGN(const uint64_t count, trained_value_count(one, training));
    return count * cluster_count(graph);
  }
  if (training.lora) {
    COT_ASSIGN(const TrainedPart part, trained_part(graph, training));
    return part.count();
  }
  COT_ASSIGN(const std::vector<bool> trained, trained_tensors(graph, choice_of(training)));
  const auto parameters = std::ranges::count(graph.tensors, TensorRole::parameter, &TensorInfo::role);
  const bool has_part = training.personal && training.personal->kind == PersonalKind::part;
  if (std::ranges::count(trained, true) == parameters && !has_part) return uint64_t{0};
  COT_ASSIGN(const ValueSelection selection, selection_of(graph, training, trained));
  return selection.count();
}

}  // namespace coterie
