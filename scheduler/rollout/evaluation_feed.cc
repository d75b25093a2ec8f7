#include "scheduler/rollout/evaluation_feed.h"

#include <cmath>

#include "base/assert.h"
#include "base/random.h"
#include "proto/messages/evaluation_lanes.h"

namespace coterie {
namespace {

constexpr std::string_view kPrefix = "evaluation.";
constexpr uint64_t kDevicesMax = 1 << 24;  // of a round: each count of a table is exact

// Difference is accuracy before - new.
CanaryCounts counts_of(int32_t step, double harm_max) {
  const double share = std::abs(step) * harm_max / kDifferenceSteps;
  const auto differ = static_cast<uint32_t>(std::llround(share * kFedExamples));
  return {.both = kFedExamples - differ,
          .only_new = step < 0 ? differ : 0,
          .only_old = step > 0 ? differ : 0,
          .neither = 0};
}

}  // namespace

Result<std::vector<CanaryCounts>> observations_of(const AnalyticsRules& rules, std::span<const float> before,
                                                  std::span<const float> after, uint64_t seed) {
  COT_ASSERT(rules.evaluation && rules.evaluation->compares());
  const EvaluationLayout layout(rules);
  COT_ASSERT(before.size() == layout.lanes() && after.size() == layout.lanes());
  const auto harm_max = static_cast<double>(rules.evaluation->harm_max);
  std::vector<CanaryCounts> observations;
  for (int32_t step = -kDifferenceSteps; step <= kDifferenceSteps; ++step) {
    const uint64_t lane = layout.difference(step);
    const double more = (static_cast<double>(after[lane]) - static_cast<double>(before[lane])) /
                        static_cast<double>(layout.device_unit());
    const double devices = std::round(more);
    if (!(devices >= 0) || std::abs(more - devices) > 1e-6 ||
        devices + static_cast<double>(observations.size()) > kDevicesMax) {
      return Error(ErrorCode::data_loss, "evaluation: two tables that follow one another differ by " +
                                             std::to_string(more) + " devices in a step; expected a whole number");
    }
    observations.insert(observations.end(), static_cast<size_t>(devices), counts_of(step, harm_max));
  }
  Prng(seed).shuffle(observations);
  return observations;
}

std::string fed_source(const JobId& job, ModelVersion table, size_t place) {
  return std::string(kPrefix) + job.value() + "." + std::to_string(table.value()) + "." + std::to_string(place);
}

bool is_source_of_server(std::string_view source) { return source.starts_with(kPrefix); }

}  // namespace coterie
