// NodeReport: what a node that talks to devices says of itself, again and again. Soft state: a report that is lost is
// replaced by the next.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/ids.h"
#include "base/time.h"

namespace coterie {

// How much of what it may hold a node holds; 1 and more: it sends devices away. What a fleet is scaled on.
struct NodeLoad {
  double bytes = 0;        // of updates in flight, of bytes_in_flight_max
  double connections = 0;  // of connections_max
  double waiters = 0;      // of waiters_max
  double queue_delay = 0;  // of the core's tasks, of what is still good
  double highest() const;
  friend bool operator==(const NodeLoad&, const NodeLoad&) = default;
};

struct NodeReport {
  std::string node;         // its name in the fleet
  std::string incarnation;  // names one life of its process
  std::string url;          // where other nodes reach it; empty: nowhere
  bool serves = false;      // it talks to devices
  bool draining = false;    // it is about to leave
  NodeLoad load;
  std::map<Population, uint64_t> waiting;
  std::map<Population, uint64_t>
      steered;  // who waits, or was told here to come back and is away, those twice (CheckinDesk)
  std::map<RoundKey, uint32_t> issued;    // tickets, of rounds it serves
  std::map<RoundKey, uint64_t> lacking;   // devices that wait there for a ticket, as it may give no more
  std::map<RoundKey, uint64_t> accepted;  // rows it has made durable
  friend bool operator==(const NodeReport&, const NodeReport&) = default;
};

// As the store has it.
struct NodeRow {
  NodeReport report;
  WallTime started;
  Millis age{0};  // since it was heard of, by the store's clock
};

}  // namespace coterie
