#include "fl_server/app/node_list.h"

#include <utility>

#include "fl_server/fleet/fleet_text.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/fleet_store.h"

namespace coterie {

NodeRow lone_node(const std::string& name, WallTime started, bool is_leaving, const SchedulerStatus& status,
                  const std::function<NodeLoad(uint64_t waiting)>& load) {
  uint64_t waiting = 0;
  for (const auto& [population, count] : status.waiting) waiting += count;
  NodeRow row{.report = {.node = name,
                         .incarnation = {},
                         .url = {},
                         .serves = true,
                         .draining = is_leaving,
                         .load = load(waiting),
                         .waiting = status.waiting,
                         .issued = {},
                         .lacking = {},
                         .accepted = {}},
              .started = started};
  for (const SchedulerStatus::Job& job : status.jobs) {
    if (!job.round) continue;
    row.report.issued[job.round->key] = job.selected;
    row.report.accepted[job.round->key] = job.accepted;
  }
  return row;
}

Result<std::vector<NodeRow>> fleet_nodes(FleetStore& store) {
  COT_ASSIGN(const std::vector<FleetNodeRow> rows, store.nodes());
  std::vector<NodeRow> nodes;
  for (const FleetNodeRow& row : rows) {
    COT_ASSIGN(NodeReport report, node_report_from_text(row.report));
    report.node = row.node;
    report.incarnation = row.incarnation;
    nodes.push_back({std::move(report), row.started, row.age});
  }
  return nodes;
}

std::string lead_holder(const std::string& node, const std::string& life) { return node + "/" + life; }

Result<std::string> fleet_leader(FleetStore& store) {
  COT_ASSIGN(std::string holder, store.lease_holder(kLeadLease));
  return holder.substr(0, holder.rfind('/'));  // a node's name may have one, too
}

}  // namespace coterie
