// CoordinatorSettings: the limits a coordinator works under.
#pragma once

#include <string>

#include "fl_server/core/ingest_machine.h"
#include "scheduler/selection/checkin_desk.h"

namespace coterie {

struct CoordinatorSettings {
  std::string node = "node-0";  // unique in a fleet; part of every partial sum's id
  IngestLimits ingest;
  DeskLimits desk;
  PaceSettings pace;
  Millis ticket_leeway{10'000};  // a ticket outlives its round's deadline by this
  size_t pool_threads = 2;
  // Ed25519, of whoever certifies devices. Devices that trust it share with nobody in whose cohort there is a stranger: at
  // active and above such a device is not let in. Empty: whoever is enrolled is.
  Bytes authority_key;
};

}  // namespace coterie
