// The servers of the fleet, as they say they are: what an operator looks at, and what a fleet is scaled on.
#include <nlohmann/json.hpp>

#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/record_json.h"
#include "fl_server/json/rfc3339.h"

namespace coterie::admin_handlers {
namespace {

nlohmann::json to_json(const NodeRow& row, const std::string& leader) {
  const NodeReport& report = row.report;
  uint64_t waiting = 0;
  for (const auto& [population, count] : report.waiting) waiting += count;
  nlohmann::json rounds = nlohmann::json::array();
  for (const auto& [key, issued] : report.issued) {
    const auto accepted = report.accepted.find(key);
    rounds.push_back({{"round", key.round.value()},
                      {"attempt", key.attempt.value()},
                      {"selected", issued},
                      {"accepted", accepted == report.accepted.end() ? 0 : accepted->second}});
  }
  return {{"node", report.node},
          {"incarnation", report.incarnation},
          {"started", rfc3339(row.started)},
          {"seconds_since_heard", std::chrono::duration<double>(row.age).count()},
          {"leads", report.node == leader},
          {"serves_devices", report.serves},
          {"draining", report.draining},
          {"devices_waiting", waiting},
          {"load",
           {{"highest", report.load.highest()},
            {"bytes", report.load.bytes},
            {"connections", report.load.connections},
            {"waiters", report.load.waiters}}},
          {"rounds", rounds}};
}

}  // namespace

HttpResponse list_nodes(AdminContext& context, const AdminCall&) {
  const Result<std::vector<NodeRow>> rows = context.nodes();
  if (!rows) return problem_response(rows.error());
  const Result<std::string> leader = context.leader();
  if (!leader) return problem_response(leader.error());
  nlohmann::json list = nlohmann::json::array();
  for (const NodeRow& row : *rows) list.push_back(to_json(row, *leader));
  nlohmann::json json = {{"nodes", std::move(list)}, {"leader", nullptr}};
  if (!leader->empty()) json["leader"] = *leader;
  return json_response(json);
}

}  // namespace coterie::admin_handlers
