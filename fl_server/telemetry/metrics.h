// Metrics of one server process, by the Prometheus naming conventions (base units, _total for counters). No label ever
// names a device. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "scheduler/fleet/node_report.h"
#include "scheduler/job/records.h"

namespace coterie {

class CollectedMetrics;

class Metrics {
 public:
  explicit Metrics(std::string version);
  ~Metrics();

  void request_answered(std::string_view plane, std::string_view route, int status, double seconds);
  void checkin_answered(bool ticket);
  // `reason`: as DeviceGate has it.
  void checkins_ended(std::string_view reason, uint64_t count);
  void update_accepted(uint64_t bytes);
  void update_refused(ErrorCode code);
  // By a later round than it was trained for.
  void update_joined();
  // A device trained, and no round counts it. `reason` is late (its round was over) or too_late (for all that came).
  void update_wasted(std::string_view reason);
  // Before anything was done for it. `reason` is a stable name: queue_delay, device_rate, stranger_rate, connections.
  void request_refused(std::string_view reason);
  // `queue` is network, core or store.
  void set_queue_delay(std::string_view queue, double seconds);
  // By a device. `reason` is one of refusal_reason::known().
  void plan_refused(std::string_view reason);
  // Before it was assigned a plan; `reason` likewise.
  void device_held(std::string_view reason);
  void batch_committed(double seconds);
  void round_ended(RoundState state, double seconds);
  void round_finalized(double seconds);
  // Secure aggregation. `phase` is share, mask or unmask; `reason` a stable name or empty.
  void devices_dropped(std::string_view phase, uint32_t count);
  void masks_opened(double seconds);
  void session_failed(std::string_view reason);
  void set_devices_waiting(uint64_t count);
  void add_connections(std::string_view plane, int64_t change);
  void set_bytes_in_flight(uint64_t bytes);
  void set_node_load(const NodeLoad& load);
  void set_fleet_nodes(uint32_t nodes);  // that talk to devices, as the one that leads hears
  // Spans of traces so far: sent to the collector, and given up. One thread at a time.
  void set_spans(uint64_t exported, uint64_t dropped);
  void set_evaluation(const JobId& job, double loss, std::optional<double> accuracy);
  void set_watch(const JobId& job, const WatchOutcome& outcome);

  // All of them, as they are now.
  CollectedMetrics collect() const;
  // The Prometheus text exposition format, version 0.0.4.
  std::string exposition() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace coterie
