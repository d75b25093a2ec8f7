#include "scheduler/job/importance_result.h"

#include "proto/messages/evaluation_lanes.h"

namespace coterie {

std::vector<ColumnImportance> importance_of(const AnalyticsSettings& analytics, const EvaluationLayout& layout,
                                            std::span<const float> counts) {
  const auto orders = static_cast<double>(layout.importance().errors_offset());
  const double devices = devices_in(layout, 0, 0, counts);
  const double n = moment_in(layout, 0, 0, Moment::n, counts), nn = moment_in(layout, 0, 0, Moment::nn, counts);
  // `unit`: of what was summed, in an example's rise of one order.
  const auto estimate = [&](const RiseMoments& rises, double unit, double most) {
    return ratio_estimate({.devices = devices,
                           .n = n,
                           .y = rises.y * unit,
                           .nn = nn,
                           .ny = rises.ny * unit,
                           .yy = rises.yy * unit * unit},
                          -most, most);
  };
  std::vector<ColumnImportance> found;
  for (size_t column = 0; column < layout.importance().columns(); ++column) {
    found.push_back({.name = column < analytics.permuted.size() ? analytics.permuted[column] : std::to_string(column),
                     .loss_rise = estimate(loss_rises_in(layout, column, counts), 1 / (orders * kLossUnits), kLossMax),
                     .error_rise = estimate(error_rises_in(layout, column, counts), 1 / orders, 1)});
  }
  return found;
}

}  // namespace coterie
