// What the rules of alarms are about, read from a server's metrics: the same that Prometheus would read.
#pragma once

#include "fl_server/telemetry/alarm_rules.h"

namespace coterie {

class CollectedMetrics;

AlarmCounts alarm_counts_of(const CollectedMetrics& metrics);

}  // namespace coterie
