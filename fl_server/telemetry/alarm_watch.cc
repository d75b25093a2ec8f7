#include "fl_server/telemetry/alarm_watch.h"

#include <algorithm>

namespace coterie {
namespace {

constexpr int64_t kStretches = 48;  // of the window of a most; it goes back in steps of one

const AlarmRule& rule_of(AlarmKind kind) {
  return *std::ranges::find(alarm_rules(), kind, [](const AlarmRule& rule) { return rule.kind; });
}

}  // namespace

void AlarmWatch::observe(Instant now, WallTime wall, const AlarmCounts& counts) {
  for (const auto& [key, count] : counts) {
    auto found = series_.find(key);
    if (found == series_.end()) {
      if (series_.size() >= kSeriesMax) continue;
      const auto whole = series_.find({key.first, ""});  // without a part: so this one's samples would have been
      Series begun;
      if (whole != series_.end()) begun.samples = whole->second.samples;
      else if (key.first != AlarmKind::accuracy_fell) begun.samples.push_back({looked_.value_or(now), {}});
      found = series_.emplace(key, std::move(begun)).first;
    }
    Series& series = found->second;
    const AlarmRule& rule = rule_of(key.first);
    const bool is_so =
        rule.kind == AlarmKind::accuracy_fell ? fell(rule, series, now, count.part) : rose(rule, series, now, count);
    if (!is_so) series.true_since.reset();
    else if (!series.true_since) series.true_since.emplace(now, wall);
    series.fires = is_so && now - series.true_since->first >= rule.hold;
  }
  looked_ = now;
}

bool AlarmWatch::rose(const AlarmRule& rule, Series& series, Instant now, const AlarmCount& count) {
  series.samples.push_back({now, count});
  while (series.samples.size() > 1 && series.samples[1].at <= now - rule.window) series.samples.pop_front();
  const AlarmCount& before = series.samples.front().count;
  const double part = count.part - before.part, whole = count.whole - before.whole;
  return part > rule.floor && part > rule.share * whole;
}

bool AlarmWatch::fell(const AlarmRule& rule, Series& series, Instant now, double value) {
  if (series.samples.empty() || now - series.samples.back().at >= rule.window / kStretches) {
    series.samples.push_back({now, {.part = value}});
  } else {
    double& most = series.samples.back().count.part;
    most = std::max(most, value);
  }
  while (series.samples.front().at < now - rule.window) series.samples.pop_front();
  const auto best = std::ranges::max_element(series.samples, {}, [](const Sample& s) { return s.count.part; });
  return value < best->count.part - rule.floor;
}

std::vector<Alarm> AlarmWatch::alarms() const {
  std::vector<Alarm> firing;
  for (const auto& [key, series] : series_) {
    if (series.fires) firing.push_back({&rule_of(key.first), key.second, series.true_since->second});
  }
  std::ranges::stable_sort(firing, {}, [](const Alarm& alarm) { return std::pair(alarm.rule->severity, alarm.since); });
  return firing;
}

}  // namespace coterie
