// FleetSettings: how the servers of a fleet keep in touch.
#pragma once

#include <string>

#include "base/time.h"

namespace coterie {

struct FleetSettings {
  Millis poll_every{100};     // the board by nodes, the nodes by the one that leads: what a round's steps wait for
  Millis say_every{1'000};    // a node says at least so often that it lives
  Millis silence_max{5'000};  // of a node, until it counts as dead
};

// Who one of them is.
struct FleetIdentity {
  std::string node;         // its name
  std::string incarnation;  // names this life of its process
  std::string former;       // its life before, which is over; empty: not known
  std::string url;          // where others reach it for secure aggregation; empty: nowhere
  bool serves = true;       // it talks to devices
};

}  // namespace coterie
