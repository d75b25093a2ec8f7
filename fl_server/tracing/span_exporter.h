// SpanExporter: the shell around RoundSpans and SpanQueue: it hears events and calls of stores, and sends spans on a
// thread of its own. Whoever adds an event or makes a call never waits for a collector.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "fl_server/events/event_hub.h"
#include "fl_server/telemetry/metrics.h"
#include "fl_server/telemetry/round_probe.h"
#include "fl_server/tracing/otlp_json.h"
#include "fl_server/tracing/round_spans.h"
#include "fl_server/tracing/span_queue.h"

namespace coterie {

class SpanExporter final : public EventSubscriber, public RoundProbe {
 public:
  // Sends a batch; blocks, but not for long once `cancelled` is set. unavailable: the same later; other errors: never.
  using Send = std::function<Status(const std::string& body, const std::atomic<bool>& cancelled)>;

  // `life`: RoundSpans. `metrics` outlives this.
  SpanExporter(const std::string& life, TracedService service, TracedStores stores, Send send, Metrics& metrics);
  // What has not been sent is lost.
  ~SpanExporter();

  void happened(const Event& event) override;
  void store_called(const RoundKey& key, std::string_view call, Micros began, Micros took) override;
  void device_at(const RoundKey&, const DeviceId&, DeviceStep) override {}  // no collector hears of devices

 private:
  void add(std::vector<Span> spans);  // mutex_ is held
  void run();
  Exported send(const std::vector<Span>& batch);

  const TracedService service_;
  const Send send_;
  Metrics& metrics_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  RoundSpans rounds_;        // mutex_ guards it,
  SpanQueue queue_;          // and this
  bool is_failing_ = false;  // the thread's: one line for a collector that is away, not one a try
  std::thread thread_;
};

}  // namespace coterie
