#include "scheduler/job/watch_norm.h"

#include <cmath>

#include "proto/messages/watch_lanes.h"
#include "proto/messages/watch_noise.h"

namespace coterie {

double watch_norm_of(const HorizontalSettings& settings) {
  if (!settings.training.watch || !settings.privacy.has_noise()) return 0;
  return settings.privacy.watch_share * static_cast<double>(settings.update.clip_l2);
}

double watch_lane_norm_of(const HorizontalSettings& settings) {
  const double norm = watch_norm_of(settings);
  if (norm == 0) return 0;
  return norm / std::sqrt(static_cast<double>(watch_lane_count(named_checks(*settings.training.watch))));
}

float watch_bound_of(const HorizontalSettings& settings, float value_abs_max) {
  const double height = watch_lane_norm_of(settings);
  return height == 0 ? 1 : watch_bound(height, value_abs_max);
}

}  // namespace coterie
