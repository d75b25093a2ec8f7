// The servers of the fleet as operators see them; a server that is alone lists itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "scheduler/fleet/node_report.h"

namespace coterie {

class FleetStore;
struct SchedulerStatus;

// `load` is asked with the number of devices that wait.
NodeRow lone_node(const std::string& name, WallTime started, bool is_leaving, const SchedulerStatus& status,
                  const std::function<NodeLoad(uint64_t waiting)>& load);

// data_loss: what a node has said cannot be read.
Result<std::vector<NodeRow>> fleet_nodes(FleetStore& store);

// The lease of whoever leads the fleet, and how it is asked for by one life of a node's process.
inline constexpr const char* kLeadLease = "scheduler";
std::string lead_holder(const std::string& node, const std::string& life);
// The name of the node that leads; empty: nobody does.
Result<std::string> fleet_leader(FleetStore& store);

}  // namespace coterie
