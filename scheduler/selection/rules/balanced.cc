// Devices are not there alike: who is charged and idle for most of the day waits at most draws, and a uniform draw
// counts it as often more. Here each waiting device has a score of (1 + rounds that counted it + tickets since without
// an update) ^ -exponent, and is drawn in proportion to it, one by one without replacement. So a device that never
// finishes comes as seldom as one that always does. It reads nobody's data.
//
// Where few of many are drawn, a device that is there with probability p and was counted c times is counted at a rate
// of p c^-exponent, so that c grows with p ^ (1 / (1 + exponent)): with exponent 3, devices that are there four times
// as often are counted 1.41 times as often.
#include <cmath>

#include "scheduler/selection/selection_rule.h"
#include "scheduler/selection/weighted_draw.h"

namespace coterie::selection {
namespace {

constexpr SelectionRange kExponent{[](float value) { return value >= 0 && value <= 8; }, "must be in [0, 8]"};

constexpr SelectionSetting kSettings[] = {
    {"candidates_ratio", 3.0f, kCandidatesRange, kCandidatesSentence},
    {"exponent", 3.0f, kExponent, "how much devices that were counted often count less; in [0, 8]"},
    {"ratio_max", 16.0f, kRatioMaxRange, kRatioMaxSentence},
};

std::vector<uint32_t> choose(const SelectionDraw& draw, Prng& chance) {
  std::vector<double> scores;
  for (const TrainedReport* report : draw.reports) {
    const double rounds = report == nullptr ? 0 : static_cast<double>(report->counted) + report->asked;
    scores.push_back(std::pow(1 + rounds, -static_cast<double>(draw.settings[1])));
  }
  bound_scores(scores, draw.settings[2]);
  return weighted_draw(scores, draw.tickets, chance);
}

}  // namespace

extern const SelectionRule kBalanced = {
    .name = "balanced",
    .sentence = "with lower probability who was counted more often",
    .source = "own: participation grows with availability ^ (1 / (1 + `exponent`))",
    .settings = kSettings,
    .memory = SelectionMemory::participation,
    .candidates = [](uint64_t tickets, std::span<const float> settings) { return candidates_of(tickets, settings[0]); },
    .choose = choose,
};

}  // namespace coterie::selection
