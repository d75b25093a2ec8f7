#include "proto/messages/watch_lanes.h"

#include <algorithm>

#include "base/assert.h"

namespace coterie {
namespace {

constexpr JobCheck kJobChecks[] = {{"operator_overflow"},
                                   {"tensor_overflow"},
                                   {"weight_overflow"},
                                   {"gradient_exploding"},
                                   {"tensor_all_zero"},
                                   {"activation_range"},
                                   {"weight_initial"},
                                   {"weight_change_too_large"},
                                   {"weight_change_too_small", true, false},
                                   {"weight_unchanged"},
                                   {"gradient_vanishing"},
                                   {"dead_relu"},
                                   {"loss_not_decreasing", false},
                                   {"update_norm_outlier", false, false},
                                   {"label_drift", false}};
static_assert(std::size(kJobChecks) <= kJobWatchChecksMax);

constexpr size_t kLookedLanes = 1;

size_t lanes_of(std::string_view check) {
  const JobCheck* const known = find_job_check(check);
  COT_ASSERT(known != nullptr);
  return known->is_of_layers ? kWatchGroups : 1;
}

// A model's names are those of whoever made it.
std::string printable(std::string_view name) {
  std::string text(name.substr(0, kLayerNameBytesMax));
  for (char& c : text) c = c > 0x20 && c < 0x7f ? c : '?';
  return text;
}

bool has_parameters(const ModelGraph& graph, const OpInfo& op) {
  return std::ranges::any_of(op.inputs, [&](uint32_t tensor) {
    return tensor != kNoTensor && graph.tensors[tensor].role == TensorRole::parameter;
  });
}

}  // namespace

std::span<const JobCheck> job_checks() { return kJobChecks; }

const JobCheck* find_job_check(std::string_view name) {
  const auto found = std::ranges::find(kJobChecks, name, &JobCheck::name);
  return found == std::end(kJobChecks) ? nullptr : &*found;
}

WatchSettings named_checks(const WatchSettings& settings) {
  if (settings.checks != std::vector<std::string>{std::string(kRecommendedChecks)}) return settings;
  WatchSettings named{.checks = {}, .every = settings.every};
  for (const JobCheck& check : kJobChecks) {
    if (check.is_recommended) named.checks.emplace_back(check.name);
  }
  return named;
}

size_t watch_lane(const WatchSettings& settings, size_t check) {
  size_t lane = kLookedLanes;
  for (size_t i = 0; i < check; ++i) lane += lanes_of(settings.checks[i]);
  return lane;
}

size_t watch_lane_count(const WatchSettings& settings) { return watch_lane(settings, settings.checks.size()); }

std::vector<ScalarRule> watch_scalars(const WatchSettings& settings) {
  return std::vector<ScalarRule>(watch_lane_count(settings), {ScalarKind::watch_hit, 1});
}

size_t watch_lanes_of(std::span<const ScalarRule> scalars) {
  return static_cast<size_t>(std::ranges::count(scalars, ScalarKind::watch_hit, &ScalarRule::kind));
}

LayerGroups::LayerGroups(const ModelGraph& graph) {
  std::vector<std::string> layers;
  std::vector<size_t> layer_of;
  for (const OpInfo& op : graph.ops) {
    if (has_parameters(graph, op)) layers.push_back(printable(op.name));
    layer_of.push_back(layers.empty() ? 0 : layers.size() - 1);
    ops_.push_back(op.name);
  }
  const size_t groups = std::min<size_t>(layers.size(), kWatchGroups);
  const auto group_of = [&](size_t layer) { return groups == 0 ? 0 : layer * groups / layers.size(); };
  for (const size_t layer : layer_of) group_of_.push_back(static_cast<uint32_t>(group_of(layer)));
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const bool is_first = layer == 0 || group_of(layer) != group_of(layer - 1);
    const bool is_last = layer + 1 == layers.size() || group_of(layer) != group_of(layer + 1);
    if (is_first) names_.push_back(layers[layer]);
    else if (is_last) names_.back() += ".." + layers[layer];
  }
}

uint32_t LayerGroups::of_op(std::string_view name) const {
  const auto found = std::ranges::find(ops_, name);
  return found == ops_.end() ? 0 : group_of_[static_cast<size_t>(found - ops_.begin())];
}

}  // namespace coterie
