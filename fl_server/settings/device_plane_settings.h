// DevicePlaneSettings: the limits a node that talks to devices works under.
#pragma once

#include <optional>
#include <string>

#include "fl_server/core/ingest_machine.h"
#include "scheduler/selection/checkin_desk.h"

namespace coterie {

struct DevicePlaneSettings {
  std::string node = "node-0";  // unique in a fleet; part of every partial sum's id
  IngestLimits ingest;
  DeskLimits desk;
  PaceSettings pace;
  size_t pool_threads = 2;
  std::optional<uint64_t> draw_seed = {};  // for development: CheckinDesk draws by device; none: as nobody can foretell
};

}  // namespace coterie
