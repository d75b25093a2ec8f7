// Alarms: what somebody should look at, as deploy/prometheus/alerts.yml has it, for a server that nobody scrapes. A
// test holds the two together (tests/deploy/check_alarms.py): names, windows, thresholds, and what to do.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"

namespace coterie {

// page: devices or operators feel it now. ticket: it will get worse.
enum class AlarmSeverity : uint8_t { page, ticket };
std::string_view to_string(AlarmSeverity severity);

// What is counted, in the order of the rules.
enum class AlarmKind : uint8_t {
  ledger_rollback,
  storage_full,
  server_errors,
  rounds_fail,
  sessions_fail,
  plans_refused,
  is_behind,
  commits_are_slow,
  updates_shed,
  accuracy_fell,
};

// Fires where, over `window`, what is counted rose by more than `floor`, and by more than `share` of what its whole
// rose by; and has done so for `hold`. accuracy_fell: where the value is more than `floor` below the most of `window`.
struct AlarmRule {
  AlarmKind kind;
  std::string_view name;
  AlarmSeverity severity;
  Millis window, hold;
  double floor, share;
  std::string_view summary, action, guide;  // guide: the chapter of docs/ that has more
};
// Without CoterieServerDown: a server that is down does not say so.
std::span<const AlarmRule> alarm_rules();

// Counted since the process began. `whole`: what `part` is held against; 0 where the rule has no share.
struct AlarmCount {
  double part = 0, whole = 0;
};
// By rule, and by what else tells series apart: a reason, a plane, a job, or nothing. accuracy_fell: `part` is the
// value now. plans_refused of nothing has the whole alone, which is counted long before a reason is.
using AlarmCounts = std::map<std::pair<AlarmKind, std::string>, AlarmCount>;

}  // namespace coterie
