#include "tools/model_report/group_fairness.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/assert.h"
#include "base/random.h"

namespace coterie {
namespace {

constexpr std::array<GapRow, kGapKinds> kGapRows = {{
    {GapKind::accuracy, "accuracy", "accuracy", "largest accuracy less the smallest"},
    {GapKind::error, "error", "error", "largest mean error less the smallest"},
    {GapKind::demographic_parity, "demographic_parity", "demographic parity",
     "of the share said to be positive (Dwork et al. 2012)"},
    {GapKind::equal_opportunity, "equal_opportunity", "equal opportunity",
     "of true positives (Hardt, Price and Srebro 2016)"},
    {GapKind::equalised_odds, "equalised_odds", "equalised odds",
     "the larger of those of true and of false positives (Hardt, Price and Srebro 2016)"},
}};

// Largest less smallest of the figures that there are; none of fewer than two, or where one is not finite.
std::optional<double> spread(std::span<const std::optional<double>> figures) {
  std::optional<double> least, most;
  size_t count = 0;
  for (const std::optional<double>& figure : figures) {
    if (!figure) continue;
    if (!std::isfinite(*figure)) return std::nullopt;
    least = std::min(least.value_or(*figure), *figure);
    most = std::max(most.value_or(*figure), *figure);
    ++count;
  }
  if (count < 2) return std::nullopt;
  return *most - *least;
}

// The place of the group that is worst off: the first of equals.
std::optional<size_t> worst_of(const GroupFairness& fairness) {
  std::optional<size_t> worst;
  const auto harm = [&](size_t i) {
    const GroupScore& group = fairness.groups[i];
    return fairness.is_of_numbers ? group.error.mean : -*group.correct.value();
  };
  for (size_t i = 0; i < fairness.groups.size(); ++i) {
    if (fairness.groups[i].is_rest || !std::isfinite(harm(i))) continue;
    if (!worst || harm(i) > harm(*worst)) worst = i;
  }
  return worst;
}

std::optional<double> ratio_of(const GroupFairness& fairness) {
  std::optional<double> least, most;
  for (const GroupScore& group : fairness.groups) {
    const std::optional<double> selection = group.selection.value();
    if (group.is_rest || !selection) continue;
    least = std::min(least.value_or(*selection), *selection);
    most = std::max(most.value_or(*selection), *selection);
  }
  if (!most || *most == 0) return std::nullopt;
  return *least / *most;
}

}  // namespace

struct GroupAnswers::Tally {
  SeenShare correct, selection, true_positives, false_positives;
  double error_sum = 0;
};

std::span<const GapRow, kGapKinds> gap_rows() { return kGapRows; }

GroupAnswers::GroupAnswers(ExampleGroups groups, std::optional<uint32_t> positive)
    : groups_(std::move(groups)), positive_(positive) {
  answers_.reserve(groups_.of.size());
}

void GroupAnswers::add(std::optional<uint32_t> said, uint32_t label, double error) {
  COT_ASSERT(answers_.size() < groups_.of.size());
  answers_.push_back({.is_correct = said == label,
                      .is_selected = positive_ && said == positive_,
                      .is_positive = positive_ == label,
                      .error = error});
}

void GroupAnswers::add(double error) {
  COT_ASSERT(answers_.size() < groups_.of.size());
  is_of_numbers_ = true;
  answers_.push_back({.error = error});
}

std::vector<GroupAnswers::Tally> GroupAnswers::tallies(std::span<const uint32_t> group_of) const {
  std::vector<Tally> tallies(groups_.names.size());
  for (size_t i = 0; i < answers_.size(); ++i) {
    const Answer& answer = answers_[i];
    Tally& tally = tallies[group_of[i]];
    ++tally.correct.of;
    tally.correct.count += answer.is_correct ? 1 : 0;
    tally.error_sum += answer.error;
    if (!positive_) continue;
    ++tally.selection.of;
    tally.selection.count += answer.is_selected ? 1 : 0;
    SeenShare& of_label = answer.is_positive ? tally.true_positives : tally.false_positives;
    ++of_label.of;
    of_label.count += answer.is_selected ? 1 : 0;
  }
  return tallies;
}

GroupAnswers::Figures GroupAnswers::gaps(std::span<const Tally> tallies) const {
  const auto over = [&](const std::function<std::optional<double>(const Tally&)>& figure) {
    std::vector<std::optional<double>> figures;
    for (size_t group = 0; group < tallies.size(); ++group) {
      if (groups_.rest != group && tallies[group].correct.of > 0) figures.push_back(figure(tallies[group]));
    }
    return spread(figures);
  };
  Figures gaps;
  const auto at = [&](GapKind kind) -> std::optional<double>& { return gaps[static_cast<size_t>(kind)]; };
  at(GapKind::error) = over([](const Tally& of) { return of.error_sum / static_cast<double>(of.correct.of); });
  if (is_of_numbers_) return gaps;
  at(GapKind::accuracy) = over([](const Tally& of) { return of.correct.value(); });
  at(GapKind::demographic_parity) = over([](const Tally& of) { return of.selection.value(); });
  at(GapKind::equal_opportunity) = over([](const Tally& of) { return of.true_positives.value(); });
  const std::optional<double> false_positives = over([](const Tally& of) { return of.false_positives.value(); });
  const std::optional<double>& true_positives = at(GapKind::equal_opportunity);
  if (true_positives && false_positives) at(GapKind::equalised_odds) = std::max(*true_positives, *false_positives);
  return gaps;
}

void GroupAnswers::add_chance(uint64_t seed, GroupFairness& fairness) const {
  // Examples of the rest keep their group: they are compared with nobody.
  std::vector<size_t> compared;
  std::vector<uint32_t> shuffled;
  for (size_t i = 0; i < groups_.of.size(); ++i) {
    if (groups_.rest == groups_.of[i]) continue;
    compared.push_back(i);
    shuffled.push_back(groups_.of[i]);
  }
  std::array<double, kGapKinds> sums = {};
  std::array<uint32_t, kGapKinds> as_large = {}, seen = {};
  std::vector<uint32_t> group_of = groups_.of;
  Prng prng(seed);
  for (uint32_t shuffle = 0; shuffle < kGroupShuffles; ++shuffle) {
    prng.shuffle(shuffled);
    for (size_t i = 0; i < compared.size(); ++i) group_of[compared[i]] = shuffled[i];
    const Figures by_chance = gaps(tallies(group_of));
    for (size_t kind = 0; kind < kGapKinds; ++kind) {
      if (!fairness.gaps[kind] || !by_chance[kind]) continue;
      ++seen[kind];
      sums[kind] += *by_chance[kind];
      as_large[kind] += *by_chance[kind] >= fairness.gaps[kind]->value - 1e-12 ? 1 : 0;
    }
  }
  for (size_t kind = 0; kind < kGapKinds; ++kind) {
    if (!fairness.gaps[kind] || seen[kind] == 0) continue;
    fairness.gaps[kind]->chance = sums[kind] / seen[kind];
    fairness.gaps[kind]->p = (1.0 + as_large[kind]) / (1.0 + seen[kind]);
  }
}

GroupFairness GroupAnswers::judged(uint64_t seed) const {
  COT_ASSERT(answers_.size() == groups_.of.size());
  GroupFairness fairness{
      .column = groups_.column, .folded = groups_.folded, .positive = positive_, .is_of_numbers = is_of_numbers_};
  const std::vector<Tally> of_groups = tallies(groups_.of);
  std::vector<std::vector<double>> errors(of_groups.size());
  for (size_t i = 0; i < answers_.size(); ++i) errors[groups_.of[i]].push_back(answers_[i].error);
  for (size_t group = 0; group < of_groups.size(); ++group) {
    const Tally& tally = of_groups[group];
    const bool are_finite = std::ranges::all_of(errors[group], [](double error) { return std::isfinite(error); });
    fairness.groups.push_back(
        {.name = groups_.names[group],
         .is_rest = groups_.rest == group,
         .examples = tally.correct.of,
         .correct = is_of_numbers_ ? SeenShare{} : tally.correct,
         .selection = tally.selection,
         .true_positives = tally.true_positives,
         .false_positives = tally.false_positives,
         .error = are_finite ? mean_interval(errors[group]) : MeanInterval{.mean = NAN, .half_width = {}, .count = 0}});
  }
  const Figures figures = gaps(of_groups);
  for (size_t kind = 0; kind < kGapKinds; ++kind) {
    if (figures[kind]) fairness.gaps[kind] = Gap{.value = *figures[kind]};
  }
  add_chance(seed, fairness);
  fairness.selection_ratio = ratio_of(fairness);
  fairness.worst = worst_of(fairness);
  return fairness;
}

}  // namespace coterie
