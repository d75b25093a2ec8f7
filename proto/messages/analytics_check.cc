#include "proto/messages/analytics_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "proto/messages/analytics_lanes.h"
#include "proto/messages/evaluation_lanes.h"
#include "proto/messages/hitter_lanes.h"
#include "proto/messages/range_lanes.h"

namespace coterie {
namespace {

Error wrong(const std::string& what) { return Error(ErrorCode::malformed, "update: no examples give " + what); }

Result<uint64_t> number_at(const EvaluationLayout& layout, const DigitRange& at, std::span<const float> lanes) {
  const std::optional<uint64_t> number = digits_of_one(lanes.subspan(at.first, at.count), layout.digit_unit());
  return number ? Result<uint64_t>(*number) : wrong("such digits from lane " + std::to_string(at.first) + " on");
}

// What a block of moments says of the device's examples. All lanes of none of them are 0.
Result<ScoredExamples> read_moments(const EvaluationLayout& layout, size_t model, size_t group, uint64_t values_max,
                                    std::span<const float> lanes) {
  std::array<uint64_t, kMoments> values = {};
  for (size_t i = 0; i < kMoments; ++i) {
    const auto moment = static_cast<Moment>(i);
    COT_ASSIGN(values[i], number_at(layout, {layout.digits(model, group, moment), layout.digit_count(moment)}, lanes));
  }
  const auto at = [&](Moment moment) { return values[static_cast<size_t>(moment)]; };
  const uint64_t n = at(Moment::n), y = at(Moment::y), l = at(Moment::l);
  const bool is_there = lanes[layout.devices(model, group)] == layout.device_unit();
  if (is_there != (n > 0) || (n == 0 && lanes[layout.devices(model, group)] != 0)) return wrong("such a device");
  if (n > values_max || y > n || l > n * kLossMax * kLossUnits) return wrong("such sums");
  const bool agree = at(Moment::nn) == n * n && at(Moment::ny) == n * y && at(Moment::yy) == y * y &&
                     at(Moment::nl) == n * l && at(Moment::ll) == l * l;
  if (!agree) return wrong("such squares");
  return ScoredExamples{n, y, l};
}

class EvaluationCheck {
 public:
  EvaluationCheck(const AnalyticsRules& rules, std::span<const float> lanes)
      : rules_(rules), layout_(rules), lanes_(lanes) {}

  Status check() {
    for (size_t model = 0; model < layout_.models(); ++model) COT_TRY(check_model(model));
    for (size_t column = 0; column < layout_.importance().columns(); ++column) COT_TRY(check_rises(column));
    if (layout_.models() < 2) return {};
    if (of_class_[0] != of_class_[1]) return wrong("other examples to the one model than to the other");
    return check_difference();
  }

 private:
  Status check_model(size_t model) {
    COT_ASSIGN(const ScoredExamples all, read_moments(layout_, model, 0, rules_.values_max, lanes_));
    scored_.push_back(all);
    ScoredExamples grouped;
    for (size_t group = 1; group < layout_.groups(); ++group) {
      COT_ASSIGN(const ScoredExamples own, read_moments(layout_, model, group, rules_.values_max, lanes_));
      grouped = {grouped.examples + own.examples, grouped.correct + own.correct, grouped.loss + own.loss};
    }
    const bool agree = grouped.examples == all.examples && grouped.correct == all.correct && grouped.loss == all.loss;
    if (layout_.groups() > 1 && !agree) return wrong("groups that are not all examples");
    COT_TRY(check_confusion(model, all));
    COT_TRY(check_scores(model, all.examples));
    return check_one_of(layout_.accuracy(model, 0), kAccuracyBins, all.examples,
                        [&](uint64_t bin) { return bin == accuracy_bin(all.examples, all.correct); });
  }

  Status check_confusion(size_t model, const ScoredExamples& all) {
    const uint32_t classes = rules_.evaluation->classes;
    std::vector<uint64_t>& rows = of_class_.emplace_back(classes);
    uint64_t examples = 0, correct = 0;
    for (uint32_t of_class = 0; of_class < classes; ++of_class) {
      for (uint32_t predicted = 0; predicted <= classes; ++predicted) {
        COT_ASSIGN(const uint64_t count, count_at(layout_.confusion(model, of_class, predicted)));
        rows[of_class] += count;
        if (predicted == of_class) correct += count;
      }
      examples += rows[of_class];
    }
    if (examples == all.examples && correct == all.correct) return {};
    return wrong("such a confusion matrix");
  }

  Status check_scores(size_t model, uint64_t examples) {
    for (size_t index = 0; index < layout_.scored_classes(); ++index) {
      uint64_t own = 0, others = 0;
      for (uint32_t bin = 0; bin < rules_.evaluation->score_bins; ++bin) {
        COT_ASSIGN(const uint64_t of_class, count_at(layout_.score(model, index, true, bin)));
        COT_ASSIGN(const uint64_t of_others, count_at(layout_.score(model, index, false, bin)));
        own += of_class;
        others += of_others;
      }
      const uint64_t of_class = of_class_[model][layout_.scored_class(index)];
      if (own != of_class || others != examples - of_class) return wrong("such scores");
    }
    return {};
  }

  // A rise of the loss is between those of no loss and of the most; one of errors between those of all right and of all
  // wrong, in each order.
  Status check_rises(size_t column) {
    const ImportanceLayout& own = layout_.importance();
    std::array<uint64_t, kRiseMoments> values = {};
    for (size_t i = 0; i < kRiseMoments; ++i) {
      COT_ASSIGN(values[i], number_at(layout_, layout_.rises(column, static_cast<RiseMoment>(i)), lanes_));
    }
    const auto at = [&](RiseMoment moment) { return values[static_cast<size_t>(moment)]; };
    const uint64_t n = scored_[0].examples, l = at(RiseMoment::l), e = at(RiseMoment::e);
    const uint64_t repeats = own.errors_offset();
    if (l > 2 * n * own.loss_offset()) return wrong("such a rise of the loss");
    if (e < repeats * scored_[0].correct || e > repeats * (n + scored_[0].correct))
      return wrong("such a rise of errors");
    const bool agree = at(RiseMoment::nl) == n * l && at(RiseMoment::ll) == l * l && at(RiseMoment::ne) == n * e &&
                       at(RiseMoment::ee) == e * e;
    return agree ? Status() : wrong("such squares of rises");
  }

  // What a device rounds at random is next to the difference.
  Status check_difference() {
    const ScoredExamples &before = scored_[0], &after = scored_[1];
    const auto is_next = [&](uint64_t lane) {
      const double harm = (static_cast<double>(before.correct) - static_cast<double>(after.correct)) /
                          static_cast<double>(before.examples);
      const double share = std::clamp(harm / static_cast<double>(rules_.evaluation->harm_max), -1.0, 1.0);
      return std::abs(static_cast<double>(lane) - kDifferenceSteps - share * kDifferenceSteps) < 1;
    };
    return check_one_of(layout_.difference(-kDifferenceSteps), 2 * kDifferenceSteps + 1, before.examples, is_next);
  }

  // One of so many lanes has the device, where it has examples, and no other has anything.
  template <typename Fits>
  Status check_one_of(uint64_t first, uint64_t count, uint64_t examples, const Fits& fits) {
    uint64_t there = 0;
    for (uint64_t i = 0; i < count; ++i) {
      if (lanes_[first + i] == 0) continue;
      if (lanes_[first + i] != layout_.device_unit() || examples == 0 || !fits(i)) return wrong("such a device");
      ++there;
    }
    return there == (examples > 0 ? 1u : 0u) ? Status() : wrong("such a device");
  }

  Result<uint64_t> count_at(uint64_t lane) const {
    const auto count = whole_units(lanes_[lane], 1, rules_.values_max);
    return count ? Result<uint64_t>(*count) : wrong("a count of " + std::to_string(lanes_[lane]));
  }

  const AnalyticsRules& rules_;
  EvaluationLayout layout_;
  std::span<const float> lanes_;
  std::vector<ScoredExamples> scored_;           // of each model
  std::vector<std::vector<uint64_t>> of_class_;  // examples of each class, likewise
};

// No string begins with a prefix that the round does not follow, and none is empty.
Status check_asked(const HitterRules& rules, std::span<const float> lanes) {
  const std::span<const float> behind = lanes.subspan(first_lane(rules, rules.prefixes.size()));
  const bool is_empty_asked = rules.length == 0 && lanes[end_lane(rules, 0)] != 0;
  const bool is_asked = std::ranges::all_of(behind, [](float lane) { return lane == 0; }) && !is_empty_asked;
  return is_asked ? Status() : wrong("a count of a prefix that is not asked for");
}

}  // namespace

Status check_lanes(const AnalyticsRules& rules, std::span<const float> lanes) {
  if (rules.kind == AnalyticsKind::evaluation) return EvaluationCheck(rules, lanes).check();
  if (rules.kind == AnalyticsKind::activation_ranges) return check_range_lanes(rules, lanes);
  if (rules.hitters) COT_TRY(check_asked(*rules.hitters, lanes));
  uint64_t examples = 0;
  for (const float lane : lanes) {
    const auto count = whole_units(lane, 1, rules.lane_max);
    if (!count) return wrong("a count of " + std::to_string(lane));
    examples += *count;
  }
  if (examples <= rules.values_max) return {};
  return wrong("counts of " + std::to_string(examples) + " examples, and values_max is " +
               std::to_string(rules.values_max));
}

}  // namespace coterie
