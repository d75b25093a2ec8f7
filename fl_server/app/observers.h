// Observers: what hears of everything that this process does: metrics, the log of events with its subscribers, and
// probes of what takes how long.
#pragma once

#include <string>

#include "fl_server/app/version.h"
#include "fl_server/events/event_hub.h"
#include "fl_server/events/log_subscriber.h"
#include "fl_server/events/metrics_subscriber.h"
#include "fl_server/telemetry/metrics.h"
#include "fl_server/telemetry/round_probes.h"
#include "fl_server/tracing/round_traces.h"

namespace coterie {

struct Observers {
  // `incarnation` names this life of the process.
  explicit Observers(const std::string& incarnation) : traces(incarnation), events(incarnation) {
    events.subscribe(log_lines);
    events.subscribe(counts);
    events.subscribe(traces);
    probes.add(traces);
  }

  Metrics metrics{kVersion};
  LogSubscriber log_lines;
  MetricsSubscriber counts{metrics};
  RoundTraces traces;
  RoundProbes probes;
  EventHub events;
};

}  // namespace coterie
