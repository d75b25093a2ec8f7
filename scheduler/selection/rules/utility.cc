// Oort's utility (Lai et al. 2021, algorithm 1) of levels in the place of values, and within a bound. A share of the
// tickets is for devices that were not asked yet. The others are drawn among those who were, one by one without
// replacement, each time with probabilities in proportion to
//
//   score = (reward + sqrt(staleness_bonus * ln(version) / last version)) * min(1, 2 ^ -(speed_exponent * octaves))
//
// reward: where the loss level lies between the lowest and the highest of the devices that were counted, in [0, 1],
// halved by each ticket since without an update, and 0 of a device that was never counted; last version: that it was
// asked to train; octaves: by which the device is slower than the median of those who were counted. A score below the
// highest / ratio_max counts as that: nobody who was asked is drawn more than ratio_max times as likely as another, and
// that is all that a lie buys.
#include <algorithm>
#include <cmath>

#include "scheduler/selection/selection_rule.h"
#include "scheduler/selection/weighted_draw.h"

namespace coterie::selection {
namespace {

constexpr SelectionRange kShare{[](float value) { return value > 0 && value <= 1; }, "must be in (0, 1]"};
constexpr SelectionRange kExponent{[](float value) { return value >= 0 && value <= 4; }, "must be in [0, 4]"};
constexpr SelectionRange kBonus{[](float value) { return value >= 0 && value <= 1; }, "must be in [0, 1]"};

constexpr SelectionSetting kSettings[] = {
    {"candidates_ratio", 3.0f, kCandidatesRange, kCandidatesSentence},
    {"exploration", 0.3f, kShare, "share of the tickets for devices that were not asked yet; in (0, 1]"},
    {"ratio_max", 4.0f, kRatioMaxRange, kRatioMaxSentence},
    {"speed_exponent", 1.0f, kExponent, "how much slower devices than the median count less; in [0, 4]"},
    {"staleness_bonus", 0.1f, kBonus, "how much devices that were drawn long ago count more; in [0, 1]"},
};
enum Setting : size_t { kCandidatesRatio, kExploration, kRatioMax, kSpeedExponent, kStalenessBonus };

// What those of them who were counted have said.
struct Said {
  int lowest = 0, range = 0;  // of loss levels
  int middle = 0;             // of the levels of their time
};

Said said_by(const SelectionDraw& draw, std::span<const uint32_t> known) {
  std::vector<uint8_t> losses, seconds;
  for (const uint32_t i : known) {
    if (draw.reports[i]->is_silent()) continue;
    losses.push_back(draw.reports[i]->loss_level);
    seconds.push_back(draw.reports[i]->seconds_level);
  }
  if (losses.empty()) return {};
  const auto [low, high] = std::ranges::minmax(losses);
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>((seconds.size() - 1) / 2);
  std::ranges::nth_element(seconds, middle);
  return {low, high - low, *middle};
}

double reward_of(const TrainedReport& report, const Said& said) {
  if (report.is_silent()) return 0;
  const double reward = said.range == 0 ? 1 : static_cast<double>(report.loss_level - said.lowest) / said.range;
  return reward * std::exp2(-static_cast<double>(report.asked));
}

// One score for each known device, in their order. Precondition: there is one at least.
std::vector<double> scores_of(const SelectionDraw& draw, std::span<const uint32_t> known) {
  const Said said = said_by(draw, known);
  const double now = std::log(static_cast<double>(std::max<uint64_t>(draw.version, 1)));
  std::vector<double> scores;
  for (const uint32_t i : known) {
    const TrainedReport& report = *draw.reports[i];
    const auto last = static_cast<double>(std::max<uint64_t>(report.version, 1));
    const double bonus = std::sqrt(static_cast<double>(draw.settings[kStalenessBonus]) * now / last);
    const int octaves = report.is_silent() ? 0 : std::max(0, report.seconds_level - said.middle);
    const double speed = std::exp2(-static_cast<double>(draw.settings[kSpeedExponent]) * octaves);
    scores.push_back((reward_of(report, said) + bonus) * speed);
  }
  bound_scores(scores, draw.settings[kRatioMax]);
  return scores;
}

std::vector<uint32_t> choose(const SelectionDraw& draw, Prng& chance) {
  std::vector<uint32_t> known, unknown;
  for (uint32_t i = 0; i < draw.reports.size(); ++i) (draw.reports[i] == nullptr ? unknown : known).push_back(i);
  // Rounded by chance, so that a draw of one ticket explores, too.
  const auto wanted = static_cast<size_t>(
      static_cast<double>(draw.settings[kExploration]) * static_cast<double>(draw.tickets) + chance.uniform());
  const size_t left = draw.tickets - std::min(draw.tickets, known.size());  // whom the known do not suffice for
  const size_t explored = std::min(unknown.size(), std::clamp(wanted, left, draw.tickets));
  std::vector<uint32_t> chosen(unknown.begin(), unknown.begin() + static_cast<std::ptrdiff_t>(explored));
  if (known.empty()) return chosen;
  const std::vector<double> scores = scores_of(draw, known);
  for (const uint32_t i : weighted_draw(scores, draw.tickets - explored, chance)) chosen.push_back(known[i]);
  return chosen;
}

}  // namespace

extern const SelectionRule kUtility = {
    .name = "utility",
    .sentence =
        "with higher probability who had a high loss, is fast or was not drawn for long, and some who "
        "were not asked yet",
    .source = "Oort, Lai et al. 2021, algorithm 1",
    .settings = kSettings,
    .memory = SelectionMemory::training,
    .candidates = [](uint64_t tickets,
                     std::span<const float> settings) { return candidates_of(tickets, settings[kCandidatesRatio]); },
    .choose = choose,
};

}  // namespace coterie::selection
