#include "fl_server/telemetry/alarm_counts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "fl_server/telemetry/collected_metrics.h"

namespace coterie {
namespace {

using prometheus::ClientMetric;

constexpr double kSlowSeconds = 1;  // a bound of the buckets of metrics.cc

// Reasons that say nothing of what a job promises: where the device is, or what it has left.
constexpr std::array<std::string_view, 8> kOfTheMoment = {"idle",       "charging", "unmetered", "foreground",
                                                          "background", "battery",  "thermal",   "free_memory"};

bool is_of_the_ledger(std::string_view reason) {
  return reason == "ledger_rollback" || reason == "ledger_fork" || reason == "ledger_unproven";
}

bool is_about_the_promise(std::string_view reason) {
  return !reason.starts_with("ledger_") && !reason.ends_with("_budget") &&
         std::ranges::find(kOfTheMoment, reason) == kOfTheMoment.end();
}

}  // namespace

AlarmCounts alarm_counts_of(const CollectedMetrics& metrics) {
  AlarmCounts counts;
  const double tickets = metrics.sum("coterie_checkins_total", "outcome", "ticket");
  counts[{AlarmKind::plans_refused, ""}] = {0, tickets};
  metrics.each("coterie_plans_refused_total", [&](const ClientMetric& metric) {
    const std::string reason = label_of(metric, "reason");
    const double refused = metric.counter.value;
    if (is_of_the_ledger(reason)) counts[{AlarmKind::ledger_rollback, reason}] = {refused, 0};
    if (is_about_the_promise(reason)) counts[{AlarmKind::plans_refused, reason}] = {refused, tickets};
  });
  const auto updates = [&](std::string_view outcome) {
    return metrics.sum("coterie_updates_total", "outcome", outcome);
  };
  counts[{AlarmKind::storage_full, ""}] = {updates("storage_full"), 0};
  counts[{AlarmKind::updates_shed, ""}] = {updates("overloaded") + updates("rate_limited"), updates("accepted")};
  metrics.each("coterie_http_requests_total", [&](const ClientMetric& metric) {
    AlarmCount& plane = counts[{AlarmKind::server_errors, label_of(metric, "plane")}];
    plane.whole += metric.counter.value;
    if (label_of(metric, "status").starts_with('5')) plane.part += metric.counter.value;
  });
  const auto rounds = [&](std::string_view outcome) { return metrics.sum("coterie_rounds_total", "outcome", outcome); };
  counts[{AlarmKind::rounds_fail, ""}] = {rounds("failed"), rounds("done")};
  metrics.each("coterie_secagg_sessions_failed_total", [&](const ClientMetric& metric) {
    counts[{AlarmKind::sessions_fail, label_of(metric, "reason")}] = {metric.counter.value, 0};
  });
  const auto turned_away = [&](std::string_view reason) {
    return metrics.sum("coterie_requests_refused_total", "reason", reason);
  };
  counts[{AlarmKind::is_behind, ""}] = {turned_away("queue_delay") + turned_away("connections"), 0};
  metrics.each("coterie_batch_commit_duration_seconds", [&](const ClientMetric& metric) {
    const auto all = static_cast<double>(metric.histogram.sample_count);
    for (const ClientMetric::Bucket& bucket : metric.histogram.bucket) {
      if (bucket.upper_bound != kSlowSeconds) continue;
      counts[{AlarmKind::commits_are_slow, ""}] = {all - static_cast<double>(bucket.cumulative_count), all};
    }
  });
  metrics.each("coterie_evaluation_accuracy_ratio", [&](const ClientMetric& metric) {
    counts[{AlarmKind::accuracy_fell, label_of(metric, "job")}] = {metric.gauge.value, 0};
  });
  return counts;
}

}  // namespace coterie
