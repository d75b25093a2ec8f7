#include "tools/demo/options.h"

#include <algorithm>
#include <cmath>

namespace coterie {
namespace {

// Devices of a demo are few: more of them vanish at once than their probability says. More than a third never may.
constexpr double kDropoutShareMin = 0.2, kDropoutShareMax = 0.25;

}  // namespace

uint32_t DemoOptions::goal_count() const {
  const auto rounded = static_cast<uint32_t>(std::lround(fraction * devices));
  return std::clamp<uint32_t>(rounded, 1, devices);
}

double DemoOptions::server_rate() const { return server_learning_rate.value_or(strategy->learning_rate_advised); }

double DemoOptions::dropout_share() const { return std::clamp(2 * dropout, kDropoutShareMin, kDropoutShareMax); }

}  // namespace coterie
