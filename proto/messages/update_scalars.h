// Numbers that an update tells beside how far the model moves: its last values, summed with the others, so that a round
// knows their mean and nobody's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coterie {

enum class ScalarKind : uint8_t {
  squared_norm = 1,    // of the parameters' part of what the device sends, as it is clipped
  fair_step = 2,       // q-FFL's h of the device (device_sdk/agent/told_scalars.h)
  cluster_member = 3,  // 1 for the cluster that was trained, 0 for the others: one each, in their order
  group_member = 4,    // 1 for the group that the device is in, 0 for the others: likewise (group_weights.h)
  group_loss = 5,      // what the given model loses on the device's examples for its group, 0 for the others: likewise
  width_holder = 6,    // 1 where the device trained all that a width has, else 0: one each but for the narrowest
  watch_hit = 7        // whether a check of the training fired: one each, in the order of watch_lanes.h
};
inline std::string_view to_string(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::squared_norm: return "squared_norm";
    case ScalarKind::fair_step: return "fair_step";
    case ScalarKind::cluster_member: return "cluster_member";
    case ScalarKind::group_member: return "group_member";
    case ScalarKind::group_loss: return "group_loss";
    case ScalarKind::width_holder: return "width_holder";
    case ScalarKind::watch_hit: return "watch_hit";
  }
  return "unknown";
}

// No device tells less than 0 or more than `bound`, whatever it has. On the wire and in the sum is
//
//   min(max(value, 0), bound) * value_abs_max / bound
//
// so that the grid of the sum is as fine as the bound lets it be, and what a device may claim is what any value of an
// update may be: a lie moves the mean by at most `bound` times the device's share of the weight, up or down.
struct ScalarRule {
  ScalarKind kind = ScalarKind::squared_norm;
  float bound = 0;
  friend bool operator==(const ScalarRule&, const ScalarRule&) = default;
};

inline constexpr size_t kScalarsMax = 16;  // beside those of a watch, whose number follows from its checks
inline constexpr float kScalarBoundMax = 1e12f;

}  // namespace coterie
