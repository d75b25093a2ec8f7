#include "device_sdk/agent/told_scalars.h"

#include <algorithm>
#include <cmath>

#include "device_sdk/agent/given_pass.h"

namespace coterie {
namespace {

double squared_norm(std::span<const ValueRange> parameters, std::span<const float> update) {
  double squares = 0;
  for (const ValueRange& range : parameters) {
    for (const float value : update.subspan(range.first, range.count)) {
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
  }
  return squares;
}

// F / M.
double loss_share(const FairWeight& fair, double loss) {
  const auto most = static_cast<double>(fair.loss_max);
  return std::clamp(loss, std::min(kFairLossMin, most), most) / most;
}

double fair_step(const TrainingSettings& training, const FairWeight& fair, double loss, double squares) {
  const auto q = static_cast<double>(fair.q);
  const double share = loss_share(fair, loss), weight = std::pow(share, q);
  const double steps = q * squares / static_cast<double>(training.optimizer.learning_rate);
  return weight + steps * weight / share / static_cast<double>(fair.loss_max);
}

}  // namespace

void tell_scalars(const TrainingSettings& training, const UpdateRules& rules, std::span<const ValueRange> parameters,
                  const GivenFacts& given, std::span<float> update) {
  if (rules.scalars.empty()) return;
  const double squares = squared_norm(parameters, update);
  const std::span<float> told = update.last(rules.scalars.size());
  uint32_t cluster = 0;
  for (size_t i = 0; i < told.size(); ++i) {
    const ScalarRule& scalar = rules.scalars[i];
    double value = 0;
    switch (scalar.kind) {
      case ScalarKind::squared_norm: value = squares; break;
      case ScalarKind::fair_step: value = fair_step(training, rules.fair, given.loss, squares); break;
      case ScalarKind::cluster_member: value = cluster++ == given.cluster ? 1 : 0; break;
    }
    const auto bound = static_cast<double>(scalar.bound);
    told[i] = static_cast<float>(std::clamp(value, 0.0, bound) / bound *
                                 static_cast<double>(rules.fixed_point.value_abs_max));
  }
  if (!rules.fair.is_on()) return;
  const auto weight =
      static_cast<float>(std::pow(loss_share(rules.fair, given.loss), static_cast<double>(rules.fair.q)));
  for (const ValueRange& range : parameters) {
    for (float& value : update.subspan(range.first, range.count)) value *= weight;
  }
}

}  // namespace coterie
