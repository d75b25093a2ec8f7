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

}  // namespace coterie
