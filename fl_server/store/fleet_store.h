// FleetStore: how the servers of a fleet learn of each other: a row for each node, which says the row again and again,
// and a board, on which the one that leads writes what the others are to do.
//
// Soft state, all of it: texts that only fl_server/fleet understands. Losing it loses no update and no round.
//
// Thread-safe. Errors as in job_store.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "scheduler/lease/lease.h"

namespace coterie {

struct FleetNodeRow {
  std::string node;         // its name; one row each
  std::string incarnation;  // one life of its process
  WallTime started;
  std::string report;
  Millis age{0};  // since it was said, by the store's clock
  friend bool operator==(const FleetNodeRow&, const FleetNodeRow&) = default;
};

struct FleetBoard {
  uint64_t revision = 0;  // grows with every change
  std::string text;
  friend bool operator==(const FleetBoard&, const FleetBoard&) = default;
};

class FleetStore {
 public:
  virtual ~FleetStore() = default;
  // The row of `row.node`, from now on this one; its age is not looked at. conflict while another incarnation of that
  // name was heard of within `silence_max`, as two servers must not have one name; unless it is `former`, which is
  // known to be dead.
  virtual Status say(const FleetNodeRow& row, const std::string& former, Millis silence_max) = 0;
  // The row goes, if it is this incarnation's.
  virtual Status leave(const std::string& node, const std::string& incarnation) = 0;
  virtual Result<std::vector<FleetNodeRow>> nodes() = 0;  // by name
  virtual Status forget_nodes(Millis age_min) = 0;
  // Who has this lease (LeaseStore) now, as its holder calls itself; empty: nobody, or its time is over.
  virtual Result<std::string> lease_holder(const std::string& lease) = 0;

  // The board, if it is not that of `known_revision`.
  virtual Result<std::optional<FleetBoard>> read_board(uint64_t known_revision) = 0;
  // conflict unless `lease` is at this epoch: whoever writes must lead.
  virtual Result<uint64_t> write_board(const std::string& lease, LeaseEpoch epoch, const std::string& text) = 0;
};

}  // namespace coterie
