#include "tools/demo/analytics_option.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/text/suggest.h"
#include "model_io/contract_targets.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/hitter_lanes.h"
#include "proto/messages/importance_lanes.h"
#include "proto/messages/model.h"
#include "proto/messages/range_lanes.h"
#include "scheduler/job/analytics_settings.h"
#include "scheduler/job/quantile_refinement.h"

namespace coterie {
namespace {

constexpr std::string_view kTarget = "target";
constexpr std::string_view kImportance = "importance";
// What is asked of a model, and has no column.
constexpr std::pair<std::string_view, AnalyticsKind> kOfModels[] = {
    {kImportance, AnalyticsKind::evaluation}, {"activation_ranges", AnalyticsKind::activation_ranges}};
constexpr uint32_t kBins = 10, kRefinedBins = 20;  // unless said
constexpr uint32_t kRefinedRoundsMin = 2;
constexpr uint32_t kThresholdShare = 10, kThresholdMin = 2;  // a tenth of the devices; above what one adds to a lane

Error wrong(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

Result<uint32_t> whole(std::string_view text, std::string_view name, uint32_t low, uint32_t high) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= low && value <= high) return value;
  return wrong(std::string(name) + " must be a whole number from " + std::to_string(low) + " to " +
               std::to_string(high) + ", not " + std::string(text));
}

std::string settings_of(AnalyticsKind kind) {
  const std::string name(to_string(kind));
  if (kind == AnalyticsKind::histogram) return name + " has bins=N, refine=ROUNDS and values=N";
  if (kind == AnalyticsKind::distinct) return name + " has buckets=N and values=N";
  if (kind == AnalyticsKind::evaluation) return std::string(kImportance) + " has repeats=N and values=N";
  if (kind == AnalyticsKind::activation_ranges) return name + " has steps=N and values=N";
  return name + " has threshold=N, alphabet=BYTES, prefixes=N and values=N";
}

Status read_setting(std::string_view text, AnalyticsChoice& choice) {
  const size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = equals < text.size() ? text.substr(equals + 1) : std::string_view();
  const auto is = [&](std::string_view wanted, AnalyticsKind kind) { return name == wanted && choice.kind == kind; };
  if (name == "values") {
    COT_ASSIGN(choice.values, whole(value, name, 1, kAnalyticsValuesMax));
  } else if (is("bins", AnalyticsKind::histogram)) {
    COT_ASSIGN(choice.bins, whole(value, name, 1, kHistogramEdgesMax - 1));
  } else if (is("refine", AnalyticsKind::histogram)) {
    choice.refines = true;
    if (equals < text.size()) {
      COT_ASSIGN(choice.rounds, whole(value, name, kRefinedRoundsMin, kRefinedRoundsMax));
    }
  } else if (is("buckets", AnalyticsKind::distinct)) {
    COT_ASSIGN(choice.buckets, whole(value, name, kDistinctBucketsMin, kDistinctBucketsMax));
  } else if (is("alphabet", AnalyticsKind::heavy_hitters)) {
    choice.alphabet.assign(value.begin(), value.end());
    std::ranges::sort(choice.alphabet);
  } else if (is("repeats", AnalyticsKind::evaluation)) {
    COT_ASSIGN(choice.repeats, whole(value, name, 1, kImportanceRepeatsMax));
  } else if (is("steps", AnalyticsKind::activation_ranges)) {
    COT_ASSIGN(choice.steps, whole(value, name, 1, kRangeStepsMax));
  } else if (is("prefixes", AnalyticsKind::heavy_hitters)) {
    COT_ASSIGN(choice.prefixes, whole(value, name, 1, kHitterPrefixesMax));
  } else if (is("threshold", AnalyticsKind::heavy_hitters)) {
    COT_ASSIGN(choice.threshold, whole(value, name, kThresholdMin, kTableCountMax));
  } else {
    const bool has_column =
        std::ranges::find(kOfModels, choice.kind, [](const auto& one) { return one.second; }) == std::end(kOfModels);
    return wrong("--analytics: " + settings_of(choice.kind) + " behind " + (has_column ? "the column" : "it") +
                 ", not " + std::string(text));
  }
  return {};
}

// From this number to the next float32 above it.
double step_above(double number) {
  const auto rounded = static_cast<float>(std::abs(number));
  return static_cast<double>(std::nextafter(rounded, INFINITY)) - static_cast<double>(rounded);
}

// A number of the examples, as the contract tells it.
struct NumberColumn {
  double low, high, mean, deviation;
  bool is_standardised;
};

// Equal bins from low to high. The last edge lies just above what was seen, also as examples have it, so that it
// belongs to a bin: examples are float32, and may be standardised before.
std::vector<double> equal_edges(const NumberColumn& column, uint32_t bins) {
  const bool has_width = column.high > column.low;
  const double width = (has_width ? column.high - column.low : 1) / bins;
  std::vector<double> edges;
  for (uint32_t i = 0; i <= bins; ++i) edges.push_back(column.low + width * i);
  if (!has_width) return edges;
  constexpr double kSteps = 4;
  double step = step_above(column.high);
  if (column.is_standardised) {
    step = std::max(step, column.deviation * step_above((column.high - column.mean) / column.deviation));
  }
  edges.back() = column.high + std::max(width * 1e-6, kSteps * step);
  return edges;
}

// One value only is encoded as 0 in standardised examples, whatever it is: its edges have no place there.
Status take_number(const NumberColumn& column, const AnalyticsChoice& choice, AnalyticsSettings& analytics) {
  if (column.is_standardised && !(column.deviation > 0)) {
    return wrong("--analytics: column " + analytics.column + " has one value only, which is no number of the " +
                 "standardised examples; take another column");
  }
  if (analytics.rules.kind == AnalyticsKind::histogram) {
    const uint32_t bins = choice.refines ? kRefinedBins : kBins;
    analytics.edges = equal_edges(column, choice.bins > 0 ? choice.bins : bins);
    analytics.quantiles = {0.25, 0.5, 0.75};
    analytics.refines = choice.refines;
  }
  if (!column.is_standardised) return {};
  analytics.mean = column.mean;
  analytics.deviation = column.deviation;
  return {};
}

// What is no number has no quantiles for rounds to come closer to.
Status check_refines(const AnalyticsChoice& choice) {
  if (!choice.refines) return {};
  return wrong("--analytics: refine comes closer to quantiles of numbers, and column " + choice.column + " has none");
}

bool is_target_column(const std::string& column, const InputContract& contract) {
  return std::ranges::any_of(targets_of(contract), [&](const ContractTarget& each) { return each.column == column; });
}

Status take_target(const ContractTarget& target, const AnalyticsChoice& choice, AnalyticsSettings& analytics) {
  if (!target.is_number) {
    COT_TRY(check_refines(choice));
    analytics.rules.source = AnalyticsSource::label;
    if (analytics.rules.kind == AnalyticsKind::histogram) analytics.categories = target.classes;
    return {};
  }
  analytics.rules.source = AnalyticsSource::target;
  return take_number({target.low, target.high, target.mean, target.deviation, target.is_standardised}, choice,
                     analytics);
}

// How many devices have a string, each of which counts it once.
void take_text(const ContractColumn& column, const AnalyticsChoice& choice, uint32_t devices,
               AnalyticsSettings& analytics) {
  analytics.rules.lane_max = 1;
  analytics.rules.hitters =
      HitterRules{.length_max = column.text_bytes, .alphabet = choice.alphabet, .prefixes_max = choice.prefixes};
  const uint32_t share = std::max(kThresholdMin, devices / kThresholdShare);
  analytics.threshold = choice.threshold > 0 ? choice.threshold : share;
}

Error no_text(const std::string& column) {
  return wrong("--analytics: column " + column + " is no text; heavy_hitters counts strings of a column that --data " +
               "reads as one: csv:FILE?text=" + column + "&length=N");
}

Status take_column(const InputContract& contract, const ContractColumn& column, size_t place,
                   const AnalyticsChoice& choice, uint32_t devices, AnalyticsSettings& analytics) {
  analytics.rules.source = AnalyticsSource::feature;
  analytics.rules.feature = static_cast<uint32_t>(place);
  const bool counts_strings = choice.kind == AnalyticsKind::heavy_hitters;
  if (counts_strings && column.text_bytes == 0) return no_text(column.name);
  if (counts_strings) {
    take_text(column, choice, devices, analytics);
    return {};
  }
  if (column.text_bytes > 0) {
    return wrong("--analytics: column " + column.name + " is a text; take heavy_hitters:" + column.name);
  }
  if (column.is_category) {
    COT_TRY(check_refines(choice));
    analytics.categories = column.values;
    return {};
  }
  if (column.missing > 0) analytics.rules.missing_feature = static_cast<uint32_t>(place + 1);
  return take_number({column.low, column.high, column.mean, column.deviation, contract.standardise}, choice, analytics);
}

// What stands behind the kind and its column, each behind a comma.
Status read_settings(std::string_view text, AnalyticsChoice& choice) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    COT_TRY(read_setting(text.substr(0, end), choice));
    text = end < text.size() ? text.substr(end + 1) : std::string_view();
  }
  return {};
}

Error no_column(const AnalyticsChoice& choice, const InputContract& contract) {
  std::vector<std::string_view> names = {kTarget};
  for (const ContractColumn& column : contract.columns) names.push_back(column.name);
  std::string listed;
  for (const std::string_view name : names) listed += (listed.empty() ? "" : ", ") + std::string(name);
  constexpr size_t kListedMax = 400;
  if (listed.size() > kListedMax) listed = listed.substr(0, kListedMax) + " ...";
  return wrong("--analytics: " + contract.name + " has no column " + choice.column + "; it has " + listed);
}

}  // namespace

Result<AnalyticsChoice> parse_analytics_choice(std::string_view text) {
  AnalyticsChoice choice;
  for (const auto& [name, kind] : kOfModels) {
    if (text.substr(0, text.find(',')) != name) continue;
    choice.kind = kind;
    COT_TRY(read_settings(text.substr(std::min(name.size() + 1, text.size())), choice));
    return choice;
  }
  const size_t colon = std::min(text.find(':'), text.size());
  const auto names = analytics_kind_names();
  const auto kind = std::ranges::find(names, text.substr(0, colon));
  const auto is_of_model = [&](const auto& one) { return kind != names.end() && *kind == to_string(one.second); };
  const bool is_of_columns = kind != names.end() && std::ranges::none_of(kOfModels, is_of_model);
  if (!is_of_columns || colon + 1 >= text.size()) {
    return wrong(
        "must be histogram:COLUMN, distinct:COLUMN, heavy_hitters:COLUMN, importance or activation_ranges, not " +
        std::string(text));
  }
  choice.kind = static_cast<AnalyticsKind>(kind - names.begin() + 1);
  std::string_view rest = text.substr(colon + 1);
  const size_t comma = std::min(rest.find(','), rest.size());
  choice.column = rest.substr(0, comma);
  COT_TRY(read_settings(comma < rest.size() ? rest.substr(comma + 1) : std::string_view(), choice));
  if (choice.column.empty()) return wrong("must name a column: histogram:COLUMN");
  return choice;
}

Result<AnalyticsSettings> analytics_of(const AnalyticsChoice& choice, const InputContract& contract, uint32_t values,
                                       uint32_t devices) {
  AnalyticsSettings analytics;
  AnalyticsRules& rules = analytics.rules;
  rules.kind = choice.kind;
  rules.values_max = values;
  rules.lane_max = choice.kind == AnalyticsKind::distinct ? 1 : values;
  if (choice.kind == AnalyticsKind::distinct) rules.buckets = choice.buckets;
  COT_ASSIGN(const uint64_t numbers, element_count(contract.inputs.at(0).shape));
  rules.input_values = static_cast<uint32_t>(numbers);
  analytics.column = choice.column;
  if (choice.column == kTarget || is_target_column(choice.column, contract)) {
    COT_TRY(check_one_target(contract, "--analytics of the target"));
    if (choice.kind == AnalyticsKind::heavy_hitters) return no_text(choice.column);
    COT_TRY(take_target(contract.target, choice, analytics));
    return analytics;
  }
  size_t place = 0;
  for (const ContractColumn& column : contract.columns) {
    if (column.name == choice.column) {
      COT_TRY(take_column(contract, column, place, choice, devices, analytics));
      return analytics;
    }
    place += column.width(contract.one_hot);
  }
  return no_column(choice, contract);
}

}  // namespace coterie
