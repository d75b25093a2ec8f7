// DevicePlaneSettings: the limits a node that talks to devices works under.
#pragma once

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
};

}  // namespace coterie
