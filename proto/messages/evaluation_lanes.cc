#include "proto/messages/evaluation_lanes.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/assert.h"

namespace coterie {
uint32_t evaluation_lane_max(uint32_t values_max) { return std::max(values_max, kDigitBase - 1); }

EvaluationLayout::EvaluationLayout(const AnalyticsRules& rules)
    : models_(rules.evaluation->models.size()),
      classes_(rules.evaluation->classes),
      groups_(rules.categories == 0 ? 1 : uint64_t{rules.categories} + 2),
      score_bins_(rules.evaluation->score_bins),
      values_max_(rules.values_max),
      digit_unit_(static_cast<float>(evaluation_lane_max(rules.values_max) / (kDigitBase - 1))),
      device_unit_(static_cast<float>(evaluation_lane_max(rules.values_max))),
      importance_(rules) {
  const uint64_t n = values_max_, l = values_max_ * kLossUnits * kLossMax;
  const uint64_t most[kMoments] = {n, n, n * n, n * n, n * n, l, n * l, l * l};  // l^2 below 2^57
  for (size_t i = 0; i < kMoments; ++i) {
    digit_counts_[i] = digits_for(most[i]);
    moment_lanes_ += digit_counts_[i];
  }
  confusion_ = groups_ * moment_lanes_;
  scores_ = confusion_ + classes_ * (classes_ + 1);
  accuracies_ = scores_ + 2 * score_bins_ * scored_classes();
  model_lanes_ = accuracies_ + kAccuracyBins;
}

uint64_t EvaluationLayout::digits(size_t model, size_t group, Moment moment) const {
  uint64_t place = devices(model, group) + 1;
  for (size_t i = 0; i < static_cast<size_t>(moment); ++i) place += digit_counts_[i];
  return place;
}

uint64_t EvaluationLayout::confusion(size_t model, uint32_t of_class, uint32_t predicted) const {
  COT_ASSERT(of_class < classes_ && predicted <= classes_);
  return model * model_lanes_ + confusion_ + of_class * (classes_ + 1) + predicted;
}

uint64_t EvaluationLayout::score(size_t model, size_t index, bool is_of_class, uint32_t bin) const {
  COT_ASSERT(index < scored_classes() && bin < score_bins_);
  return model * model_lanes_ + scores_ + (2 * index + (is_of_class ? 1 : 0)) * score_bins_ + bin;
}

uint64_t EvaluationLayout::difference(int32_t step) const {
  COT_ASSERT(models_ == 2 && std::abs(step) <= kDifferenceSteps);
  return 2 * model_lanes_ + static_cast<uint64_t>(step + kDifferenceSteps);
}

DigitRange EvaluationLayout::rises(size_t column, RiseMoment moment) const {
  const DigitRange own = importance_.digits(column, moment);
  return {.first = evaluation_lanes() + own.first, .count = own.count};
}

// Counts of examples are longest where all of them are in one lane. Digits are bounded one by one: a device may have
// every group, and lies at most so far.
double EvaluationLayout::l2_sensitivity() const {
  const auto n = static_cast<double>(values_max_);
  const double digit = static_cast<double>(digit_unit_) * (kDigitBase - 1), device = static_cast<double>(device_unit_);
  const auto digits = static_cast<double>(groups_ * (moment_lanes_ - 1));
  const double counts = 1 + static_cast<double>(scored_classes());  // confusion, and each class's scores
  const double of_model =
      static_cast<double>(groups_) * device * device + digits * digit * digit + counts * n * n + device * device;
  const double difference = models_ == 2 ? device * device : 0;
  const double rises = static_cast<double>(importance_.lanes()) * digit * digit;
  return std::sqrt(static_cast<double>(models_) * of_model + difference + rises);
}

void put_moments(const EvaluationLayout& layout, size_t model, size_t group, const ScoredExamples& scored,
                 std::span<float> lanes) {
  if (scored.examples == 0) return;
  const uint64_t n = scored.examples, y = scored.correct, l = scored.loss;
  const uint64_t values[kMoments] = {n, y, n * n, n * y, y * y, l, n * l, l * l};
  lanes[layout.devices(model, group)] = layout.device_unit();
  for (size_t i = 0; i < kMoments; ++i) {
    const auto moment = static_cast<Moment>(i);
    const uint64_t first = layout.digits(model, group, moment);
    put_digits(values[i], layout.digit_unit(), lanes.subspan(first, layout.digit_count(moment)));
  }
}

uint32_t accuracy_bin(uint64_t examples, uint64_t correct) {
  return static_cast<uint32_t>(std::min<uint64_t>(kAccuracyBins - 1, kAccuracyBins * correct / examples));
}

double devices_in(const EvaluationLayout& layout, size_t model, size_t group, std::span<const float> table) {
  return static_cast<double>(table[layout.devices(model, group)]) / static_cast<double>(layout.device_unit());
}

double moment_in(const EvaluationLayout& layout, size_t model, size_t group, Moment moment,
                 std::span<const float> table) {
  const uint64_t first = layout.digits(model, group, moment);
  return digits_of_all(table.subspan(first, layout.digit_count(moment)), layout.digit_unit());
}

Problems evaluation_problems(const AnalyticsRules& rules) {
  Problems problems;
  if (rules.kind == AnalyticsKind::activation_ranges) return problems;  // range_problems
  if (rules.kind != AnalyticsKind::evaluation) {
    if (rules.evaluation)
      problems.push_back({"/model", "must be absent: it is of kind evaluation or activation_ranges"});
    return problems;
  }
  if (!rules.evaluation || rules.evaluation->models.empty() || rules.evaluation->models.size() > kEvaluatedModelsMax) {
    return {{"/model", "must name the model, and `before` the one that it is compared with, if any"}};
  }
  const EvaluationRules& own = *rules.evaluation;
  const auto require = [&](bool condition, const char* pointer, std::string detail) {
    if (!condition) problems.push_back({pointer, std::move(detail)});
  };
  const bool fits = std::ranges::all_of(
      own.models, [](const EvaluatedModel& model) { return model.bytes <= kEvaluatedModelBytesMax; });
  require(fits, "/model_bytes", "must have at most 2^34 bytes each");
  require(own.classes >= 2 && own.classes <= kEvaluatedClassesMax, "/classes",
          "must be 2 to " + std::to_string(kEvaluatedClassesMax) + " classes");
  require(own.score_bins == 0 || (own.score_bins >= 2 && own.score_bins <= kScoreBinsMax), "/score_bins",
          "must be 0, for no scores, or in [2, " + std::to_string(kScoreBinsMax) + "]");
  const bool is_harm = std::isfinite(own.harm_max) && own.harm_max > 0 && own.harm_max <= 1;
  require(is_harm && (own.compares() || own.harm_max == 1), "/harm_max",
          "must be in (0, 1], and absent where no two models are compared");
  require(rules.source == AnalyticsSource::feature, "/source",
          "must be absent: groups are of a feature, and each example's class is its label");
  require(rules.categories <= kEvaluationGroupsMax, "/categories",
          "must be at most " + std::to_string(kEvaluationGroupsMax) + " groups");
  const bool has_groups = rules.categories > 0;
  require(has_groups || rules.feature == 0, "/feature", "must be absent without categories: it is where groups are");
  require(!rules.missing_feature, "/missing_feature", "must be absent: no number is counted");
  require(rules.lane_max == evaluation_lane_max(rules.values_max), "/lane_max",
          "must be absent: it follows from values_max");
  for (Problem& problem : importance_problems(rules)) problems.push_back(std::move(problem));
  return problems;
}

}  // namespace coterie
