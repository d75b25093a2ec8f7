// RoundTraces: keeps what the newest attempts at rounds took their time with, for whoever asks. Thread-safe; in memory
// alone, as events are.
//
// Phases come from events (RoundSpans), calls of stores and steps of devices from the probe. An attempt shows at most
// kDevicesMax devices, drawn uniformly from all that were drawn: those with the least keyed hash, under a key of this
// process. A hash is of a device and an attempt together, so that the same device is another number in each attempt.
// Whoever leads hears of devices of its own process alone, not of other nodes'.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "fl_server/events/event_hub.h"
#include "fl_server/telemetry/round_probe.h"
#include "fl_server/tracing/attempt_trace.h"
#include "fl_server/tracing/round_spans.h"
#include "secure/crypto/short_hash.h"

namespace coterie {

class RoundTraces final : public EventSubscriber, public RoundProbe {
 public:
  static constexpr size_t kTracesMax = 128;      // of attempts that have ended; the oldest goes
  static constexpr size_t kUnderWayMax = 256;    // beyond it the oldest round is forgotten
  static constexpr size_t kStoreCallsMax = 256;  // of one attempt; more are counted
  static constexpr size_t kDevicesMax = 16;      // of one attempt

  // `life`: RoundSpans.
  explicit RoundTraces(std::string life) : spans_(std::move(life)), hash_(ShortHash::fresh()) {}

  void happened(const Event& event) override;
  void store_called(const RoundKey& key, std::string_view call, Micros began, Micros took) override;
  void device_at(const RoundKey& key, const DeviceId& device, DeviceStep step) override;

  // A file for Perfetto (trace_file) with all attempts at that round that are kept; nothing: at the newest round that
  // is. not_found: none is.
  Result<std::string> file(const JobId& job, std::optional<uint64_t> round) const;

 private:
  struct UnderWay {
    AttemptTrace trace;
    std::map<uint64_t, AttemptTrace::Device> devices;  // by hash, the least
  };
  AttemptTrace* find(const RoundKey& key);  // under way, or ended

  mutable std::mutex mutex_;
  RoundSpans spans_;
  const ShortHash hash_;
  std::map<RoundKey, UnderWay> under_way_;
  std::deque<AttemptTrace> ended_;  // the oldest first
};

}  // namespace coterie
