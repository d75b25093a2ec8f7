#include "scheduler/job/heavy_hitters.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.h"
#include "proto/messages/hitter_lanes.h"
#include "scheduler/job/analytics_result.h"
#include "scheduler/job/analytics_rules.h"

namespace coterie {
namespace {

bool is_more(const CountedString& a, const CountedString& b) {
  return a.count != b.count ? a.count > b.count : a.text < b.text;
}

}  // namespace

double hitter_threshold(const HorizontalSettings& settings) {
  const AnalyticsSettings& analytics = *settings.analytics;
  if (!analytics.rules.hitters) return 0;
  const uint64_t lanes = hitter_lane_count(*analytics.rules.hitters) * settings.rounds.count;
  const double noise = lane_noise_of(settings, settings.rounds.ticket_count());
  return std::max<double>(analytics.threshold, reached_by_chance(lanes, noise));
}

FollowedLevel followed(const HitterRules& rules, std::span<const float> counts, double threshold) {
  COT_ASSERT(counts.size() == hitter_lane_count(rules));
  FollowedLevel level{.strings = {}, .prefixes = {}, .next = rules};
  const bool is_last = rules.length + 1 == rules.length_max;
  for (size_t i = 0; i < rules.prefixes.size(); ++i) {
    const std::string& prefix = rules.prefixes[i];
    const auto end = static_cast<double>(counts[end_lane(rules, i)]);
    if (end >= threshold && !prefix.empty()) level.strings.push_back({prefix, end});
    for (uint32_t symbol = 0; symbol < symbol_count(rules); ++symbol) {
      const auto count = static_cast<double>(counts[first_lane(rules, i) + symbol]);
      if (!(count >= threshold)) continue;
      const std::string text = prefix + static_cast<char>(symbol_at(rules, symbol));
      (is_last ? level.strings : level.prefixes).push_back({text, count, is_last});
    }
  }
  if (level.prefixes.size() > rules.prefixes_max) {
    std::ranges::sort(level.prefixes, is_more);
    level.left_out = level.prefixes[rules.prefixes_max].count;
    level.prefixes.resize(rules.prefixes_max);
    std::ranges::sort(level.prefixes, {}, &CountedString::text);
  }
  // Behind the last level there is no next one: its rules stay valid, and nobody asks by them.
  if (!is_last) ++level.next.length;
  level.next.prefixes.clear();
  for (const CountedString& prefix : level.prefixes) level.next.prefixes.push_back(prefix.text);
  return level;
}

HeavyHitters heavy_hitters_of(const HorizontalSettings& settings, std::span<const std::vector<float>> counts) {
  HeavyHitters found{.strings = {}, .prefixes = {}, .threshold = hitter_threshold(settings)};
  HitterRules rules = *settings.analytics->rules.hitters;
  for (const std::vector<float>& block : counts) {
    FollowedLevel level = followed(rules, block, found.threshold);
    std::ranges::move(level.strings, std::back_inserter(found.strings));
    found.prefixes = std::move(level.prefixes);
    found.left_out = std::max(found.left_out, level.left_out);
    rules = std::move(level.next);
  }
  std::ranges::sort(found.strings, is_more);
  std::ranges::sort(found.prefixes, is_more);
  return found;
}

}  // namespace coterie
