#include "device_sdk/agent/drift_state.h"

#include <memory>
#include <utility>

#include "base/assert.h"
#include "proto/messages/running_statistics.h"

namespace coterie {

TrainOptions options_with_state(const TrainingSettings& settings, uint64_t seed, std::vector<float> state) {
  TrainOptions options = options_of(settings, seed);
  if (settings.correction.kind != CorrectionKind::feddyn) return options;
  options.proximal_mu = settings.correction.alpha;
  if (state.empty()) return options;
  for (float& value : state) value = -value;
  options.gradient_offset = std::make_shared<const std::vector<float>>(std::move(state));
  return options;
}

std::vector<float> next_state(const DriftCorrection& correction, const ModelGraph& graph, std::span<const float> state,
                              std::span<const float> delta) {
  COT_ASSERT(correction.kind == CorrectionKind::feddyn && (state.empty() || state.size() == delta.size()));
  std::vector<float> next(delta.size());
  for (const ValueRange& range : parameter_values(graph)) {
    for (uint64_t i = range.first; i < range.first + range.count; ++i) {
      next[i] = (state.empty() ? 0 : state[i]) - correction.alpha * delta[i];
    }
  }
  return next;
}

}  // namespace coterie
