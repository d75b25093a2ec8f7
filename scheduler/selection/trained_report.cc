#include "scheduler/selection/trained_report.h"

#include <algorithm>
#include <cmath>

namespace coterie {
namespace {

constexpr double kLossOfLevelZero = 1.0 / 16, kLossLevelsAnOctave = 2;
constexpr double kSecondsOfLevelZero = 0.25, kSecondsLevelsAnOctave = 1;

uint8_t level_of(double value, double of_level_zero, double levels_an_octave) {
  if (!std::isfinite(value) || value <= of_level_zero) return 0;
  const double level = std::floor(std::log2(value / of_level_zero) * levels_an_octave);
  return static_cast<uint8_t>(std::clamp(level, 0.0, double{kReportLevels - 1}));
}

}  // namespace

TrainedReport report_of(double loss_sum, uint64_t examples, uint64_t train_ms, uint64_t version) {
  const double loss = examples == 0 ? 0 : loss_sum / static_cast<double>(examples);
  return {.loss_level = level_of(loss, kLossOfLevelZero, kLossLevelsAnOctave),
          .seconds_level = level_of(static_cast<double>(train_ms) / 1000, kSecondsOfLevelZero, kSecondsLevelsAnOctave),
          .version = version};
}

}  // namespace coterie
