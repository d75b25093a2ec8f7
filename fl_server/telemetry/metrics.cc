#include "fl_server/telemetry/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <tuple>

#include "base/os/resident_memory.h"
#include "fl_server/telemetry/collected_metrics.h"
#include "fl_server/telemetry/metric_family.h"

namespace coterie {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

const Histogram::BucketBoundaries kSeconds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                           0.5,    1,     2.5,    5,     10,   30,    60,   300};

// What is counted of requests to one route that ended with one status.
struct Answered {
  Counter* requests;
  Histogram* seconds;
};

double cpu_seconds() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

struct Metrics::Families {
  prometheus::Registry registry;

  Family<Counter>& requests =
      metric_family(registry, BuildCounter(), "coterie_http_requests_total", "Requests answered");
  Family<Histogram>& request_seconds =
      metric_family(registry, BuildHistogram(), "coterie_http_request_duration_seconds",
                    "Time from the first byte of a request to the last of its answer");
  Family<Gauge>& connections = metric_family(registry, BuildGauge(), "coterie_http_connections", "Open connections");
  Family<Counter>& checkins =
      metric_family(registry, BuildCounter(), "coterie_checkins_total", "Check-ins answered, by outcome");
  Family<Counter>& checkin_reasons = metric_family(registry, BuildCounter(), "coterie_checkin_reasons_total",
                                                   "Check-ins that ended, each with one reason");
  Counter& update_bytes =
      metric_family(registry, BuildCounter(), "coterie_update_bytes_total", "Bytes of accepted updates").Add({});
  Family<Counter>& updates =
      metric_family(registry, BuildCounter(), "coterie_updates_total", "Uploads answered, by outcome");
  Counter& joined = metric_family(registry, BuildCounter(), "coterie_updates_joined_total",
                                  "Updates counted by a later round than they were trained for")
                        .Add({});
  Family<Counter>& wasted =
      metric_family(registry, BuildCounter(), "coterie_updates_wasted_total",
                    "Updates that devices trained and no round counts, as their nodes heard of them, by reason");
  Family<Counter>& plans_refused = metric_family(registry, BuildCounter(), "coterie_plans_refused_total",
                                                 "Plans that a device's policy refused, by reason");
  Family<Counter>& devices_held = metric_family(registry, BuildCounter(), "coterie_devices_held_total",
                                                "Devices that were held back before they asked for work, by reason");
  Histogram& batch_seconds = metric_family(registry, BuildHistogram(), "coterie_batch_commit_duration_seconds",
                                           "Time to make a batch of updates durable")
                                 .Add({}, kSeconds);
  Family<Counter>& rounds =
      metric_family(registry, BuildCounter(), "coterie_rounds_total", "Round attempts ended, by outcome");
  Histogram& round_seconds = metric_family(registry, BuildHistogram(), "coterie_round_duration_seconds",
                                           "Time from opening a round to its end")
                                 .Add({}, kSeconds);
  Histogram& finalize_seconds = metric_family(registry, BuildHistogram(), "coterie_finalize_duration_seconds",
                                              "Time to turn partial sums into the next model")
                                    .Add({}, kSeconds);
  Family<Counter>& dropped = metric_family(registry, BuildCounter(), "coterie_secagg_devices_dropped_total",
                                           "Devices that vanished from a session of secure aggregation, by phase");
  Family<Counter>& sessions_failed = metric_family(registry, BuildCounter(), "coterie_secagg_sessions_failed_total",
                                                   "Sessions of secure aggregation without a sum, by reason");
  Histogram& unmask_seconds = metric_family(registry, BuildHistogram(), "coterie_secagg_unmask_duration_seconds",
                                            "Time to open the masks of a sum")
                                  .Add({}, kSeconds);
  Gauge& devices_waiting =
      metric_family(registry, BuildGauge(), "coterie_devices_waiting", "Devices whose check-in is held").Add({});
  Gauge& bytes_in_flight = metric_family(registry, BuildGauge(), "coterie_update_bytes_in_flight",
                                         "Bytes reserved for updates being received")
                               .Add({});
  Family<Gauge>& node_load =
      metric_family(registry, BuildGauge(), "coterie_node_load_ratio",
                    "What this server holds, of what it may hold; 1 and more: it sends devices away");
  Family<Counter>& refused = metric_family(registry, BuildCounter(), "coterie_requests_refused_total",
                                           "Turned away before anything was done, by reason");
  Family<Gauge>& queue_delay = metric_family(registry, BuildGauge(), "coterie_queue_delay_seconds",
                                             "How long work waits for its turn, by queue");
  Gauge& fleet_nodes = metric_family(registry, BuildGauge(), "coterie_fleet_nodes",
                                     "Servers that talk to devices, as the one that leads hears")
                           .Add({});
  Family<Gauge>& evaluation_loss = metric_family(registry, BuildGauge(), "coterie_evaluation_loss",
                                                 "Loss of the newest model on the job's evaluation set");
  Family<Gauge>& evaluation_accuracy = metric_family(registry, BuildGauge(), "coterie_evaluation_accuracy_ratio",
                                                     "Accuracy of the newest model on the job's evaluation set");
  Family<Gauge>& watch_hits =
      metric_family(registry, BuildGauge(), "coterie_watch_hit_ratio",
                    "Of the newest round of a watched job: on which share of it a check fired, at its worst layer");
  Family<Gauge>& watch_looked = metric_family(registry, BuildGauge(), "coterie_watch_looked_ratio",
                                              "Likewise: the share whose devices have looked at tensors");
  Family<Counter>& spans = metric_family(registry, BuildCounter(), "coterie_trace_spans_total",
                                         "Spans for the collector, by what came of them");
  Counter& spans_exported = spans.Add({{"outcome", "exported"}});
  Counter& spans_dropped = spans.Add({{"outcome", "dropped"}});
  Gauge& resident =
      metric_family(registry, BuildGauge(), "process_resident_memory_bytes", "Resident memory size in bytes").Add({});
  Counter& cpu = metric_family(registry, BuildCounter(), "process_cpu_seconds_total",
                               "Total user and system CPU time spent in seconds")
                     .Add({});

  // Family::Add makes the labels and a whole histogram before it looks whether they are there: too much for each of
  // many small requests. What it gave stays where it is for as long as the registry.
  Answered answered_by(std::string_view plane, std::string_view route, int status) {
    const std::tuple key(plane, route, status);
    {
      const std::shared_lock lock(answered_mutex);
      const auto found = answered.find(key);
      if (found != answered.end()) return found->second;
    }
    const std::string plane_text(plane), route_text(route);
    const Answered series{
        &requests.Add({{"plane", plane_text}, {"route", route_text}, {"status", std::to_string(status)}}),
        &request_seconds.Add({{"plane", plane_text}, {"route", route_text}}, kSeconds)};
    const std::lock_guard lock(answered_mutex);
    return answered.emplace(std::tuple(plane_text, route_text, status), series).first->second;
  }

  std::shared_mutex answered_mutex;
  std::map<std::tuple<std::string, std::string, int>, Answered, std::less<>> answered;  // guarded by it
};

Metrics::Metrics(std::string version) : families_(std::make_unique<Families>()) {
  metric_family(families_->registry, BuildGauge(), "coterie_build_info", "1, labelled by the version")
      .Add({{"version", version}})
      .Set(1);
}

Metrics::~Metrics() = default;

void Metrics::request_answered(std::string_view plane, std::string_view route, int status, double seconds) {
  const Answered series = families_->answered_by(plane, route, status);
  series.requests->Increment();
  series.seconds->Observe(seconds);
}

void Metrics::checkin_answered(bool ticket) {
  families_->checkins.Add({{"outcome", ticket ? "ticket" : "retry"}}).Increment();
}

void Metrics::checkins_ended(std::string_view reason, uint64_t count) {
  families_->checkin_reasons.Add({{"reason", std::string(reason)}}).Increment(static_cast<double>(count));
}

void Metrics::update_accepted(uint64_t bytes) {
  families_->updates.Add({{"outcome", "accepted"}}).Increment();
  families_->update_bytes.Increment(static_cast<double>(bytes));
}

void Metrics::update_refused(ErrorCode code) {
  families_->updates.Add({{"outcome", std::string(traits(code).name)}}).Increment();
}

void Metrics::update_joined() { families_->joined.Increment(); }

void Metrics::update_wasted(std::string_view reason) {
  families_->wasted.Add({{"reason", std::string(reason)}}).Increment();
}

void Metrics::request_refused(std::string_view reason) {
  families_->refused.Add({{"reason", std::string(reason)}}).Increment();
}

void Metrics::set_queue_delay(std::string_view queue, double seconds) {
  families_->queue_delay.Add({{"queue", std::string(queue)}}).Set(seconds);
}

void Metrics::plan_refused(std::string_view reason) {
  families_->plans_refused.Add({{"reason", std::string(reason)}}).Increment();
}

void Metrics::device_held(std::string_view reason) {
  families_->devices_held.Add({{"reason", std::string(reason)}}).Increment();
}

CollectedMetrics Metrics::collect() const { return CollectedMetrics(families_->registry.Collect()); }

void Metrics::batch_committed(double seconds) { families_->batch_seconds.Observe(seconds); }

void Metrics::round_ended(RoundState state, double seconds) {
  families_->rounds.Add({{"outcome", std::string(to_string(state))}}).Increment();
  families_->round_seconds.Observe(seconds);
}

void Metrics::round_finalized(double seconds) { families_->finalize_seconds.Observe(seconds); }
void Metrics::set_spans(uint64_t exported, uint64_t dropped) {
  const auto raise = [](Counter& counter, uint64_t to) {
    counter.Increment(static_cast<double>(to) - counter.Value());
  };
  raise(families_->spans_exported, exported);
  raise(families_->spans_dropped, dropped);
}
void Metrics::masks_opened(double seconds) { families_->unmask_seconds.Observe(seconds); }

void Metrics::devices_dropped(std::string_view phase, uint32_t count) {
  families_->dropped.Add({{"phase", std::string(phase)}}).Increment(count);
}

void Metrics::session_failed(std::string_view reason) {
  families_->sessions_failed.Add({{"reason", reason.empty() ? "other" : std::string(reason)}}).Increment();
}

void Metrics::set_devices_waiting(uint64_t count) { families_->devices_waiting.Set(static_cast<double>(count)); }
void Metrics::set_bytes_in_flight(uint64_t bytes) { families_->bytes_in_flight.Set(static_cast<double>(bytes)); }

void Metrics::set_node_load(const NodeLoad& load) {
  families_->node_load.Add({{"of", "bytes"}}).Set(load.bytes);
  families_->node_load.Add({{"of", "connections"}}).Set(load.connections);
  families_->node_load.Add({{"of", "waiters"}}).Set(load.waiters);
  families_->node_load.Add({{"of", "queue_delay"}}).Set(load.queue_delay);
}

void Metrics::set_fleet_nodes(uint32_t nodes) { families_->fleet_nodes.Set(nodes); }

void Metrics::add_connections(std::string_view plane, int64_t change) {
  families_->connections.Add({{"plane", std::string(plane)}}).Increment(static_cast<double>(change));
}

// As many series for a watched job as there are checks, whether they fired or not.
void Metrics::set_watch(const JobId& job, const WatchOutcome& outcome) {
  families_->watch_looked.Add({{"job", job.value()}}).Set(std::clamp(outcome.looked, 0.0, 1.0));  // with noise
  for (const auto& [check, share] : worst_by_check(outcome)) {
    families_->watch_hits.Add({{"job", job.value()}, {"check", std::string(check)}}).Set(share);
  }
}

void Metrics::set_evaluation(const JobId& job, double loss, std::optional<double> accuracy) {
  families_->evaluation_loss.Add({{"job", job.value()}}).Set(loss);
  if (accuracy) families_->evaluation_accuracy.Add({{"job", job.value()}}).Set(*accuracy);
}

std::string Metrics::exposition() const {
  families_->resident.Set(static_cast<double>(os::resident_bytes()));
  families_->cpu.Increment(cpu_seconds() - families_->cpu.Value());
  return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

}  // namespace coterie
