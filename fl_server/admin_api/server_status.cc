// How the server is, on the admin plane: for people, for metrics, and for whoever decides whether it lives and is
// ready.
#include <nlohmann/json.hpp>

#include "base/os/clock.h"
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/record_json.h"
#include "fl_server/admin_api/tenants.h"
#include "fl_server/json/rfc3339.h"
#include "fl_server/net/retry_after.h"
#include "fl_server/runtime/device_plane.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/admin_store.h"
#include "fl_server/store/device_store.h"
#include "fl_server/telemetry/alarm_watch.h"
#include "fl_server/telemetry/collected_metrics.h"
#include "fl_server/telemetry/metrics.h"
#include "fl_server/telemetry/refusals.h"

namespace coterie::admin_handlers {
namespace {

// As DeviceQuery has it.
std::string device_tenant(const AdminCaller& caller) {
  return caller.tenant == kEveryTenant ? std::string() : caller.tenant;
}

HttpResponse text_response(std::string_view text, int status = 200) {
  HttpResponse response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body.assign(text.begin(), text.end());
  return response;
}

nlohmann::json disk_json(const DiskUse& use) {
  nlohmann::json kinds = nlohmann::json::object();
  for (const DiskUse::Kind& kind : use.kinds) {
    nlohmann::json& entry = kinds[std::string(kind.name)] = nlohmann::json::object();
    if (kind.rows) entry["rows"] = *kind.rows;
    if (kind.bytes) entry["bytes"] = *kind.bytes;
  }
  return kinds;
}

// What each tenant that the caller sees has and may have; his own always, though he may have nothing yet.
Result<nlohmann::json> quotas_json(AdminContext& context, const AdminCaller& caller) {
  COT_ASSIGN(auto use, context.admin.list_use());
  if (caller.tenant != kEveryTenant) use[caller.tenant];
  const TenantQuotas& most = context.settings.quotas;
  nlohmann::json tenants = nlohmann::json::object();
  for (auto& [tenant, used] : use) {
    if (!tenant_sees(caller.tenant, tenant)) continue;
    used[Quota::event_streams] = context.streams->taken_of(tenant);
    for (const auto& [quota, max] : {std::pair(Quota::blob_bytes, most.blob_bytes_max),
                                     {Quota::uploads, most.uploads_max},
                                     {Quota::jobs, most.jobs_max},
                                     {Quota::admin_tokens, most.admin_tokens_max},
                                     {Quota::enrollment_tokens, most.enrollment_tokens_max},
                                     {Quota::idempotency_keys, most.idempotency_keys_max},
                                     {Quota::event_streams, most.event_streams_max}}) {
      tenants[tenant][std::string(to_string(quota))] = {{"used", used[quota]}, {"max", max}};
    }
  }
  return tenants;
}

nlohmann::json alarms_json(const std::vector<Alarm>& alarms) {
  nlohmann::json list = nlohmann::json::array();
  for (const Alarm& alarm : alarms) {
    list.push_back({{"name", alarm.rule->name},
                    {"severity", to_string(alarm.rule->severity)},
                    {"since", rfc3339(alarm.since)},
                    {"summary", alarm.rule->summary},
                    {"action", alarm.rule->action},
                    {"guide", alarm.rule->guide}});
    if (!alarm.of.empty()) list.back()["of"] = alarm.of;
  }
  return list;
}

// As metrics have it: of the store, not of this process.
std::string disk_metrics(const DiskUse& use) {
  std::string rows = "# HELP coterie_store_rows Rows of the store, by kind\n# TYPE coterie_store_rows gauge\n";
  std::string bytes = "# HELP coterie_store_bytes Bytes of the store, by kind\n# TYPE coterie_store_bytes gauge\n";
  for (const DiskUse::Kind& kind : use.kinds) {
    const std::string label = "{kind=\"" + std::string(kind.name) + "\"} ";
    if (kind.rows) rows += "coterie_store_rows" + label + std::to_string(*kind.rows) + "\n";
    if (kind.bytes) bytes += "coterie_store_bytes" + label + std::to_string(*kind.bytes) + "\n";
  }
  return rows + bytes;
}

}  // namespace

HttpResponse get_server(AdminContext& context, const AdminCall& call) {
  const Result<TenantView> own_jobs = view_of(context, call, Owned::job),
                           own_populations = view_of(context, call, Owned::population);
  if (!own_jobs || !own_populations) return problem_response(own_jobs ? own_populations.error() : own_jobs.error());
  const SchedulerStatus status = context.scheduler.status();
  nlohmann::json jobs = nlohmann::json::array();
  for (const SchedulerStatus::Job& job : status.jobs) {
    if (!own_jobs->sees(job.job.value())) continue;
    nlohmann::json entry = {{"job", job.job.value()}};
    if (job.round) {
      entry["round"] = job.round->number;
      entry["attempt"] = job.round->key.attempt.value();
      entry["state"] = to_string(job.round->state);
      entry["selected"] = job.selected;
      entry["accepted"] = job.accepted;
    }
    jobs.push_back(std::move(entry));
  }
  nlohmann::json waiting = nlohmann::json::object();
  for (const auto& [population, count] : status.waiting) {
    if (own_populations->sees(population.value())) waiting[population.value()] = count;
  }
  const Result<uint64_t> devices = context.devices.count_devices({.tenant = device_tenant(call.caller)});
  const WallTime now = os::wall_now();
  nlohmann::json answer = {{"version", context.settings.version},
                           {"started", rfc3339(context.started)},
                           {"uptime_seconds", std::chrono::duration<double>(now - context.started).count()},
                           {"ready", context.ready.load()},
                           {"leads", context.leading.load()},
                           {"devices", devices ? *devices : 0},
                           {"devices_waiting", waiting},
                           {"update_bytes_in_flight", context.plane.bytes_in_flight()},
                           {"jobs", jobs}};
  const Result<nlohmann::json> quotas = quotas_json(context, call.caller);
  if (quotas) answer["quotas"] = *quotas;
  // It tells of all tenants at once.
  if (call.caller.tenant == kEveryTenant) {
    const Result<DiskUse> use = context.disk_use();
    if (use) answer["store"] = disk_json(*use);
    const Refusals refusals = refusals_of(context.metrics.collect());
    answer["refusals"] = {{"plans", refusals.plans},
                          {"held", refusals.held},
                          {"requests", refusals.requests},
                          {"checkins", refusals.checkins},
                          {"updates", refusals.updates}};
    answer["alarms"] = alarms_json(context.alarms ? context.alarms() : std::vector<Alarm>());
  }
  return json_response(answer);
}

HttpResponse get_metrics(AdminContext& context, const AdminCall&) {
  std::string text = context.metrics.exposition();
  // A database that hangs must not hide the rest.
  if (const std::optional<DiskUse> use = context.last_disk_use()) text += disk_metrics(*use);
  HttpResponse response = text_response(text);
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return response;
}

HttpResponse get_health(AdminContext&, const AdminCall&) { return text_response("ok\n"); }

HttpResponse get_readiness(AdminContext& context, const AdminCall&) {
  if (context.ready) return text_response("ready\n");
  HttpResponse response = text_response("not ready: starting, standing by or draining\n", 503);
  say_when(response, {});
  return response;
}

}  // namespace coterie::admin_handlers
