#include "device_sdk/agent/told_scalars.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/assert.h"
#include "device_sdk/agent/given_pass.h"
#include "proto/messages/group_weights.h"
#include "proto/messages/watch_lanes.h"
#include "proto/messages/watch_noise.h"

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

// What the parameters of this device's update are multiplied by before they leave it: at most 1.
double weight_of(const UpdateRules& rules, const GivenFacts& given, const TellingDevice& device) {
  if (rules.fair.is_on()) return std::pow(loss_share(rules.fair, given.loss), static_cast<double>(rules.fair.q));
  const uint32_t groups = group_count(rules);
  return groups > 0 ? group_factors(device.control, groups)[device.group - 1] : 1;
}

}  // namespace

Status check_device(const UpdateRules& rules, const TellingDevice& device) {
  const uint32_t groups = group_count(rules);
  if (groups == 0) return {};
  if (device.group < 1 || device.group > groups) {
    return Error(ErrorCode::refused, "training: the job's groups are 1 to " + std::to_string(groups) +
                                         ", and this device is in " +
                                         (device.group == 0 ? "none" : std::to_string(device.group)) +
                                         ": say its group when the client is opened, or make the job of more groups");
  }
  return device.control.empty() ? Status() : check_group_weights(device.control);
}

Status tell_scalars(const TrainingSettings& training, const UpdateRules& rules, std::span<const ValueRange> parameters,
                    const GivenFacts& given, const TellingDevice& device, std::span<float> update) {
  if (rules.scalars.empty()) return {};
  COT_TRY(check_device(rules, device));
  const double squares = squared_norm(parameters, update);
  const std::span<float> told = update.last(rules.scalars.size());
  COT_ASSERT(device.watched.size() == watch_lanes_of(rules.scalars));
  const bool is_noisy = has_noisy_watch(rules);
  uint32_t cluster = 0, member = 0, loser = 0, width = 0;
  size_t lane = 0;
  for (size_t i = 0; i < told.size(); ++i) {
    const ScalarRule& scalar = rules.scalars[i];
    double value = 0;
    switch (scalar.kind) {
      case ScalarKind::squared_norm: value = squares; break;
      case ScalarKind::fair_step: value = fair_step(training, rules.fair, given.loss, squares); break;
      case ScalarKind::cluster_member: value = cluster++ == given.cluster ? 1 : 0; break;
      case ScalarKind::group_member: value = ++member == device.group ? 1 : 0; break;
      case ScalarKind::group_loss: value = ++loser == device.group ? given.loss : 0; break;
      // Who trained what a wide model has trained what a narrower one has.
      case ScalarKind::width_holder: value = device.width_class <= width++ ? 1 : 0; break;
      case ScalarKind::watch_hit: value = static_cast<double>(device.watched[lane++]); break;
    }
    if (is_noisy) {  // all of them are a watch's
      told[i] = value > 0 ? watch_height(rules) : -watch_height(rules);
      continue;
    }
    const auto bound = static_cast<double>(scalar.bound);
    told[i] = static_cast<float>(std::clamp(value, 0.0, bound) / bound *
                                 static_cast<double>(rules.fixed_point.value_abs_max));
  }
  const auto weight = static_cast<float>(weight_of(rules, given, device));
  if (weight == 1) return {};
  for (const ValueRange& range : parameters) {
    for (float& value : update.subspan(range.first, range.count)) value *= weight;
  }
  return {};
}

}  // namespace coterie
