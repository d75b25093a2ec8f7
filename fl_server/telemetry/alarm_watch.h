// AlarmWatch: which alarms there are, of counts that are looked at again and again. Pure.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "fl_server/telemetry/alarm_rules.h"

namespace coterie {

struct Alarm {
  const AlarmRule* rule = nullptr;  // one of alarm_rules()
  std::string of;                   // the reason, plane or job that it is about; empty: nothing else tells it apart
  WallTime since;                   // as long as what the rule says has been so without a break
};

class AlarmWatch {
 public:
  static constexpr Millis kLookEvery{15'000};   // what a window is rounded to
  static constexpr size_t kSeriesMax = 10'000;  // that are looked at; jobs beyond it have no alarm of their own

  // `now` never goes back; `wall` is the same moment, for people. What was never counted before has risen from 0, and
  // its whole from what that was (AlarmCounts).
  void observe(Instant now, WallTime wall, const AlarmCounts& counts);

  // Those that fire, pages first, then the longest ones.
  std::vector<Alarm> alarms() const;

 private:
  struct Sample {
    Instant at;
    AlarmCount count;
  };
  // `samples`: in time's order; the first is the newest from before the window, if there is one. Each one of
  // accuracy_fell is the most of a stretch.
  struct Series {
    std::deque<Sample> samples;
    std::optional<std::pair<Instant, WallTime>> true_since;
    bool fires = false;
  };

  static bool rose(const AlarmRule& rule, Series& series, Instant now, const AlarmCount& count);
  static bool fell(const AlarmRule& rule, Series& series, Instant now, double value);

  std::map<std::pair<AlarmKind, std::string>, Series> series_;
  std::optional<Instant> looked_;
};

}  // namespace coterie
