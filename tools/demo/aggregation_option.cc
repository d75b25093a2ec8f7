#include "tools/demo/aggregation_option.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "aggregation/robust/registry.h"
#include "scheduler/job/horizontal_settings.h"
#include "tools/cli/table.h"
#include "tools/demo/compression_option.h"
#include "tools/demo/job_request.h"

namespace coterie {
namespace {

// Below it devices have some classes in plenty and others not at all: with 1 no rule lost more than the spread of the
// runs, with 0.1 median, trimmed_mean, Krum and Bulyan lost 4 to 39 points (docs/operating/robust.md).
constexpr double kSkewedAlpha = 0.5;

Error unknown_rule() {
  std::string names;
  for (const std::string_view name : aggregation_names()) names += " " + std::string(name);
  return Error(ErrorCode::invalid_argument, "must be one of" + names + ", perhaps with :SETTING=VALUE,...");
}

Status read_setting(std::string_view text, AggregationSettings& aggregation) {
  const size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  const auto& settings = aggregation.rule->settings;
  const auto known = std::ranges::find_if(settings, [&](const RobustSetting& setting) { return setting.name == name; });
  if (equals == text.npos || known == settings.end()) {
    return Error(ErrorCode::invalid_argument, std::string(aggregation.name()) + " has no setting " + name);
  }
  float value = 0;
  const std::string_view number = text.substr(equals + 1);
  const auto end = std::from_chars(number.data(), number.data() + number.size(), value);
  if (end.ec != std::errc() || end.ptr != number.data() + number.size() || !known->range.admits(value)) {
    return Error(ErrorCode::invalid_argument, name + " " + known->range.text);
  }
  aggregation = aggregation.with(name, value);
  return {};
}

}  // namespace

Result<AggregationSettings> parse_aggregation(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  if (std::ranges::count(aggregation_names(), name) == 0) return unknown_rule();
  AggregationSettings aggregation = AggregationSettings::of(name);
  if (colon == text.npos) return aggregation;
  if (!aggregation.keeps_updates()) return Error(ErrorCode::invalid_argument, "mean has no settings");
  for (size_t at = colon + 1; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    COT_TRY(read_setting(text.substr(at, comma - at), aggregation));
    at = comma + 1;
  }
  return aggregation;
}

Status check_aggregation(const DemoOptions& options) {
  const std::string name(options.aggregation.name());
  if (options.attack.is_on() && options.security != SecurityLevel::none) {
    return Error(ErrorCode::invalid_argument,
                 "--attack is a drill for rounds whose updates the server sees: say --security none");
  }
  if (options.attack.is_on() && options.has_noise()) {
    return Error(ErrorCode::invalid_argument, "--attack does not go with noise");
  }
  if (options.compression.is_on() && (options.attack.is_on() || options.aggregation.keeps_updates())) {
    return Error(ErrorCode::invalid_argument,
                 std::string(options.attack.is_on() ? "--attack" : "--aggregation " + name) + " does not go with " +
                     compression_words(options.compression) +
                     ": it is about updates as devices make them, and of rounded ones the mean alone is true");
  }
  if (options.attack.is_on() && options.attack.liars_of(options.devices) == 0) {
    return Error(ErrorCode::invalid_argument,
                 "--attack " + to_string(options.attack) + " of " + counted(options.devices, "device") + " is none");
  }
  if (!options.aggregation.keeps_updates()) return {};
  if (options.has_noise())
    return Error(ErrorCode::invalid_argument, "--aggregation " + name + " does not go with noise");
  const uint32_t least = options.aggregation.updates_min();
  if (options.security != SecurityLevel::none) {
    COT_ASSIGN(const HorizontalSettings job, job_settings(options, 1));
    const uint32_t cohorts = cohort_count(job);
    if (cohorts >= least) return {};
    return Error(ErrorCode::invalid_argument,
                 "--aggregation " + name + " compares cohorts behind masks, and needs " + std::to_string(least) +
                     " of them (" + options.aggregation.rule->updates_min_text + "); a round of " +
                     counted(options.goal_count(), "device") + " has " + std::to_string(cohorts) +
                     ": give --cohort-max, or say --security none, and the server sees each update");
  }
  if (options.goal_count() >= least) return {};
  return Error(ErrorCode::invalid_argument, "--aggregation " + name + " needs " + std::to_string(least) +
                                                " updates a round (" + options.aggregation.rule->updates_min_text +
                                                "), and a round has " + std::to_string(options.goal_count()) +
                                                ": take more --devices, or a larger --fraction");
}

std::string skew_warning(const DemoOptions& options) {
  const AggregationSettings& aggregation = options.aggregation;
  const bool is_skewed = options.split.kind == SplitKind::shards ||
                         (options.split.kind == SplitKind::dirichlet && options.split.value < kSkewedAlpha);
  if (!aggregation.keeps_updates() || !aggregation.rule->loses_under_skew || !is_skewed) return {};
  return "devices differ much (" + to_string(options.split) + "), and " + std::string(aggregation.name()) +
         " takes what differs for lies: without any liar it may lose more than it saves. geometric_median and "
         "centred_clip lose least";
}

}  // namespace coterie
