#include "device_sdk/agent/drift_state.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "proto/messages/running_statistics.h"

namespace coterie {

TrainOptions options_with_state(const TrainingSettings& settings, uint64_t seed, std::vector<float> state,
                                std::span<const float> control) {
  TrainOptions options = options_of(settings, seed);
  const CorrectionKind kind = settings.correction.kind;
  if (kind == CorrectionKind::none) return options;
  if (!keeps_state(kind)) state.clear();
  if (kind == CorrectionKind::feddyn) options.proximal_mu = settings.correction.alpha;
  if (state.empty() && control.empty()) return options;
  if (state.empty()) state.resize(control.size());
  COT_ASSERT(control.empty() || control.size() == state.size());
  // The gradient's offset is c - c_i: the server's control (SCAFFOLD) less the device's own. FedDyn has no control, and
  // its offset is -h_i.
  for (float& value : state) value = -value;
  for (size_t i = 0; i < control.size(); ++i) state[i] += control[i];
  options.gradient_offset = std::make_shared<const std::vector<float>>(std::move(state));
  return options;
}

void make_control_part(const TrainingSettings& settings, uint64_t steps, std::span<const ValueRange> parameters,
                       std::span<const float> trained, std::span<const float> control, std::span<float> part) {
  COT_ASSERT(part.size() == trained.size() && (control.empty() || control.size() == trained.size()));
  std::ranges::fill(part, 0.0f);
  if (steps == 0) return;
  // Option II of SCAFFOLD (Karimireddy et al. 2020, equation 4): c_i' = c_i - c + (x - y) / (K eta). `trained` is y -
  // x, and the part is c_i' - c_i.
  const double length = static_cast<double>(steps) * static_cast<double>(settings.optimizer.learning_rate);
  for (const ValueRange& range : parameters) {
    for (uint64_t i = range.first; i < range.first + range.count; ++i) {
      const double gradient = -static_cast<double>(trained[i]) / length;
      part[i] = static_cast<float>(gradient - (control.empty() ? 0 : static_cast<double>(control[i])));
    }
  }
}

void make_gradient_part(const DriftCorrection& correction, std::span<const ValueRange> parameters,
                        std::span<const float> gradient, std::span<const float> state, std::span<float> part) {
  const bool has_state = keeps_state(correction.kind) && !state.empty();
  COT_ASSERT(part.size() == gradient.size() && (!has_state || state.size() == gradient.size()));
  std::ranges::fill(part, 0.0f);
  for (const ValueRange& range : parameters) {
    for (uint64_t i = range.first; i < range.first + range.count; ++i)
      part[i] = gradient[i] - (has_state ? state[i] : 0);
  }
}

std::vector<float> next_state(const DriftCorrection& correction, std::span<const ValueRange> parameters,
                              std::span<const float> state, std::span<const float> delta) {
  const size_t values = has_control(correction.kind) ? delta.size() / 2 : delta.size();
  COT_ASSERT(keeps_state(correction.kind) && (state.empty() || state.size() == values));
  const std::span<const float> part = delta.last(values);
  std::vector<float> next(values);
  for (const ValueRange& range : parameters) {
    for (uint64_t i = range.first; i < range.first + range.count; ++i) {
      const float before = state.empty() ? 0 : state[i];
      // FedDyn: h' = h - alpha (y - x) (Acar et al. 2021, algorithm 1). Others add the part that they sent, as the
      // server does: both must move alike.
      next[i] = correction.kind == CorrectionKind::feddyn ? before - correction.alpha * part[i] : before + part[i];
    }
  }
  return next;
}

}  // namespace coterie
