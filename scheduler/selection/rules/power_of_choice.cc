// Power of choice without a pass over the data for it (the paper's rpow-d): d devices at random, of which those with
// the highest loss of their last training are taken. A device that was not asked yet has the highest loss of all, so
// that each is asked once before one is preferred. Ties are random, as the devices come in random order.
//
// Who gives no update for a ticket costs its round one: a loss counts half for each such ticket since, and a device
// that was asked and never counted comes behind all that were.
#include <algorithm>
#include <numeric>

#include "scheduler/selection/selection_rule.h"

namespace coterie::selection {
namespace {

constexpr SelectionSetting kSettings[] = {
    {"candidates_ratio", 3.0f, kCandidatesRange, kCandidatesSentence},
};

constexpr int kLevelsOfAHalf = 2;  // levels are half octaves

int loss_of(const TrainedReport* report) {
  if (report == nullptr) return kReportLevels;
  const int asked = static_cast<int>(std::min<uint32_t>(report->asked, kReportLevels));
  return report->is_silent() ? -asked : std::max(0, report->loss_level - kLevelsOfAHalf * asked);
}

std::vector<uint32_t> choose(const SelectionDraw& draw, Prng&) {
  const uint64_t candidates = std::min<uint64_t>(draw.reports.size(), candidates_of(draw.tickets, draw.settings[0]));
  std::vector<uint32_t> chosen(candidates);
  std::iota(chosen.begin(), chosen.end(), 0u);
  std::ranges::stable_sort(chosen, std::greater<>(), [&](uint32_t i) { return loss_of(draw.reports[i]); });
  chosen.resize(draw.tickets);
  return chosen;
}

}  // namespace

extern const SelectionRule kPowerOfChoice = {
    .name = "power_of_choice",
    .sentence = "of `candidates_ratio` times as many at random, those with the highest loss of their last training",
    .source = "Cho et al. 2022, rpow-d",
    .settings = kSettings,
    .memory = SelectionMemory::training,
    .candidates = [](uint64_t tickets, std::span<const float> settings) { return candidates_of(tickets, settings[0]); },
    .choose = choose,
};

}  // namespace coterie::selection
