#include "proto/messages/analytics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "base/assert.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/evaluation_lanes.h"
#include "proto/messages/hitter_lanes.h"
#include "proto/messages/range_lanes.h"

namespace coterie {
namespace {

constexpr std::array<std::string_view, 5> kKindNames = {"histogram", "distinct", "evaluation", "heavy_hitters",
                                                        "activation_ranges"};
constexpr std::array<std::string_view, 3> kSourceNames = {"feature", "label", "target"};

template <typename Names, typename Value>
std::string_view name_of(const Names& names, Value value) {
  const size_t index = static_cast<size_t>(value) - 1;
  return index < names.size() ? names[index] : "unknown";
}

void check_edges(const AnalyticsRules& rules, Problems& problems) {
  const bool has_edges = rules.kind == AnalyticsKind::histogram && rules.is_of_numbers();
  if (!has_edges) {
    if (!rules.edges.empty()) problems.push_back({"/edges", "must be absent: they are a histogram's of numbers"});
    return;
  }
  if (rules.edges.size() < 2 || rules.edges.size() > kHistogramEdgesMax) {
    problems.push_back(
        {"/edges", "must be 2 to " + std::to_string(kHistogramEdgesMax) + " numbers, or say categories"});
    return;
  }
  for (size_t i = 0; i < rules.edges.size(); ++i) {
    const bool follows = std::isfinite(rules.edges[i]) && (i == 0 || rules.edges[i] > rules.edges[i - 1]);
    if (follows) continue;
    problems.push_back({"/edges", "must be finite and ascending as float32: number " + std::to_string(i + 1) +
                                      " is not above the one before it"});
    return;
  }
}

void check_place(const AnalyticsRules& rules, Problems& problems) {
  if (rules.input_values < 1 || rules.input_values > kInputValuesMax) {
    problems.push_back({"/input_values", "must be in [1, " + std::to_string(kInputValuesMax) + "]"});
    return;
  }
  const bool is_feature = rules.source == AnalyticsSource::feature;
  const uint64_t end = uint64_t{rules.feature} + rules.feature_width();
  if (is_feature && end > rules.input_values) {
    problems.push_back({"/feature", "must leave room: an example has " + std::to_string(rules.input_values) +
                                        " numbers, and the last that is looked at would be number " +
                                        std::to_string(end)});
  }
  if (!is_feature && rules.feature != 0) problems.push_back({"/feature", "must be absent: source is not feature"});
  const bool may_be_missing = is_feature && rules.is_of_numbers() && !rules.hitters;
  if (!rules.missing_feature) return;
  if (!may_be_missing) problems.push_back({"/missing_feature", "must be absent: source is no number of the input"});
  else if (*rules.missing_feature >= rules.input_values) {
    problems.push_back({"/missing_feature", "must be below input_values"});
  }
}

void check_bounds(const AnalyticsRules& rules, Problems& problems) {
  if (rules.categories > kHistogramCategoriesMax) {
    problems.push_back({"/categories", "must be at most " + std::to_string(kHistogramCategoriesMax)});
  }
  const bool is_distinct = rules.kind == AnalyticsKind::distinct;
  const bool fits = rules.buckets >= kDistinctBucketsMin && rules.buckets <= kDistinctBucketsMax;
  if (is_distinct && !fits) {
    problems.push_back({"/buckets", "must be in [" + std::to_string(kDistinctBucketsMin) + ", " +
                                        std::to_string(kDistinctBucketsMax) + "]"});
  }
  if (!is_distinct && rules.buckets != 0) problems.push_back({"/buckets", "must be absent: they are of kind distinct"});
  if (rules.values_max < 1 || rules.values_max > kAnalyticsValuesMax) {
    problems.push_back({"/values_max", "must be in [1, " + std::to_string(kAnalyticsValuesMax) + "]"});
    return;
  }
  const bool runs_models = rules.kind == AnalyticsKind::evaluation || rules.kind == AnalyticsKind::activation_ranges;
  if (runs_models) return;  // evaluation_problems, range_problems
  if (rules.lane_max < 1 || rules.lane_max > rules.values_max) {
    problems.push_back({"/lane_max", "must be in [1, values_max]"});
  } else if (is_distinct && rules.lane_max != 1) {
    problems.push_back({"/lane_max", "must be 1 of kind distinct: a value that a device has twice is one value"});
  }
}

// An integer of another type under the same bytes (example_source.h).
int32_t label_in(float target) { return std::bit_cast<int32_t>(target); }

// None: it is missing.
std::optional<float> number_of(const AnalyticsRules& rules, std::span<const float> input, float target) {
  if (rules.missing_feature && input[*rules.missing_feature] != 0) return std::nullopt;
  const float value = rules.source == AnalyticsSource::feature ? input[rules.feature] : target;
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

}  // namespace

std::span<const std::string_view> analytics_kind_names() { return kKindNames; }
std::span<const std::string_view> analytics_source_names() { return kSourceNames; }
std::string_view to_string(AnalyticsKind kind) { return name_of(kKindNames, kind); }
std::string_view to_string(AnalyticsSource source) { return name_of(kSourceNames, source); }

Problems problems_of(const AnalyticsRules& rules) {
  Problems problems;
  if (to_string(rules.kind) == "unknown")
    problems.push_back({"/kind", "must be histogram, distinct, evaluation, heavy_hitters or activation_ranges"});
  if (to_string(rules.source) == "unknown") problems.push_back({"/source", "must be feature, label or target"});
  if (!problems.empty()) return problems;
  const bool is_label_histogram = rules.source == AnalyticsSource::label && rules.kind == AnalyticsKind::histogram;
  if (is_label_histogram && rules.is_of_numbers()) {
    problems.push_back({"/categories", "must say the classes: source is label"});
    return problems;
  }
  if (rules.source == AnalyticsSource::target && !rules.is_of_numbers()) {
    problems.push_back({"/categories", "must be absent: source target is a number; take label"});
  }
  check_edges(rules, problems);
  check_place(rules, problems);
  check_bounds(rules, problems);
  for (Problem& problem : evaluation_problems(rules)) problems.push_back(std::move(problem));
  for (Problem& problem : range_problems(rules)) problems.push_back(std::move(problem));
  for (Problem& problem : hitter_problems(rules)) problems.push_back(std::move(problem));
  return problems;
}

Status validate(const AnalyticsRules& rules) {
  const Problems problems = problems_of(rules);
  if (problems.empty()) return {};
  return Error(ErrorCode::invalid_argument, problems[0].pointer.substr(1) + " " + problems[0].detail);
}

uint64_t lane_count(const AnalyticsRules& rules) {
  if (rules.kind == AnalyticsKind::distinct) return rules.buckets;
  if (rules.kind == AnalyticsKind::evaluation) return EvaluationLayout(rules).lanes();
  if (rules.kind == AnalyticsKind::activation_ranges) return range_lane_count(rules);
  if (rules.kind == AnalyticsKind::heavy_hitters) return hitter_lane_count(*rules.hitters);
  return rules.is_of_numbers() ? rules.edges.size() + 2 : uint64_t{rules.categories} + 1;
}

uint64_t category_of(const AnalyticsRules& rules, std::span<const float> input, float target) {
  if (rules.source == AnalyticsSource::label) {
    const int32_t label = label_in(target);
    return label >= 0 && static_cast<uint32_t>(label) < rules.categories ? static_cast<uint64_t>(label)
                                                                         : rules.categories;
  }
  const std::span<const float> own = input.subspan(rules.feature, rules.categories);
  return static_cast<uint64_t>(std::ranges::find_if(own, [](float value) { return value != 0; }) - own.begin());
}

std::optional<uint64_t> lane_of(const AnalyticsRules& rules, std::span<const float> input, float target) {
  COT_ASSERT(input.size() == rules.input_values && !rules.runs_models());
  if (rules.kind == AnalyticsKind::heavy_hitters) {
    const std::optional<std::string> text = string_of(*rules.hitters, input.subspan(rules.feature));
    return text ? hitter_lane(*rules.hitters, *text) : std::nullopt;
  }
  const bool is_distinct = rules.kind == AnalyticsKind::distinct;
  if (!rules.is_of_numbers()) {
    const uint64_t category = category_of(rules, input, target);
    if (!is_distinct) return category;
    return category == rules.categories
               ? std::nullopt
               : std::optional(distinct_bucket(static_cast<uint32_t>(category), rules.buckets));
  }
  if (is_distinct && rules.source == AnalyticsSource::label) {
    return distinct_bucket(std::bit_cast<uint32_t>(target), rules.buckets);
  }
  const std::optional<float> number = number_of(rules, input, target);
  if (is_distinct) {
    if (!number) return std::nullopt;
    return distinct_bucket(std::bit_cast<uint32_t>(*number + 0.0f), rules.buckets);  // -0 is 0
  }
  if (!number) return rules.edges.size() + 1;
  return static_cast<uint64_t>(std::ranges::upper_bound(rules.edges, *number) - rules.edges.begin());
}

uint64_t distinct_bucket(uint32_t value_bits, uint32_t buckets) {
  uint64_t mixed = uint64_t{value_bits} + 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  mixed ^= mixed >> 31;
  return ((mixed >> 32) * buckets) >> 32;
}

// Longest is what fills lanes one behind the other: squares grow with what is in one lane already.
double l2_sensitivity(const AnalyticsRules& rules) {
  if (rules.kind == AnalyticsKind::evaluation) return EvaluationLayout(rules).l2_sensitivity();
  if (rules.kind == AnalyticsKind::activation_ranges) return range_l2_sensitivity(rules);
  const double lane = rules.lane_max, lanes = static_cast<double>(lane_count(rules));
  const double full = std::min(std::floor(rules.values_max / lane), lanes);
  const double left = full < lanes ? rules.values_max - full * lane : 0;
  return std::sqrt(full * lane * lane + left * left);
}

float clip_of(const AnalyticsRules& rules) {
  const double exact = l2_sensitivity(rules);
  const auto clip = static_cast<float>(exact);
  return static_cast<double>(clip) >= exact ? clip : std::nextafter(clip, std::numeric_limits<float>::infinity());
}

}  // namespace coterie
