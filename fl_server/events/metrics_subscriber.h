// MetricsSubscriber: what the metrics have of events. What is measured rather than told (durations, bytes) goes to the
// metrics where it is measured.
#pragma once

#include "fl_server/events/event_hub.h"
#include "fl_server/telemetry/metrics.h"

namespace coterie {

class MetricsSubscriber final : public EventSubscriber {
 public:
  // `metrics` outlives this.
  explicit MetricsSubscriber(Metrics& metrics) : metrics_(metrics) {}
  void happened(const Event& event) override;

 private:
  Metrics& metrics_;
};

}  // namespace coterie
