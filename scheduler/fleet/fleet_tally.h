// FleetTally: what the nodes of a fleet say, added up for the scheduler, and how many of a round's tickets each may
// give. Pure.
//
// All of it is soft: a node that dies takes its numbers with it. The tickets that it gave stay counted: their devices
// live on.
//
// Shares are cumulative: a node may give so many tickets of a round in all. What is left (the round's tickets minus
// those given) goes to nodes in proportion to the devices that want them there; the rest is spread evenly, for those
// who come later. Who wants one: when a round begins, all who wait; then those who wait at a node that has none left
// (others may wait who have had theirs). Shares are dealt anew only when a node lacks tickets that lie at another, or
// has no share. A node learns late that its share shrank: meanwhile it may have given more, so that a round can have a
// few more tickets than it asked for, never fewer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/ids.h"
#include "base/time.h"
#include "scheduler/fleet/node_report.h"

namespace coterie {

using TicketShares = std::map<std::string, uint32_t>;  // by incarnation: a node that is started again has given none

class FleetTally {
 public:
  // A node that was not heard of for so long is dead.
  explicit FleetTally(Millis silence_max) : silence_max_(silence_max) {}

  // All nodes as the store has them.
  void hear(const std::vector<NodeRow>& rows);
  // A round that is served, or is not any more.
  void serve(const RoundKey& key, const Population& population, uint32_t tickets);
  void withdraw(const RoundKey& key);

  uint32_t nodes() const { return static_cast<uint32_t>(living_.size()); }  // that talk to devices, and stay
  uint64_t waiting(const Population& population) const;
  std::map<Population, uint64_t> waiting() const;
  // By how many a population is steered (CheckinDesk::fleet_knows), where it is large enough for that to matter. In
  // steps of 1.4, so that it changes seldom: never too few, at most 1.5 times as many.
  std::map<Population, uint64_t> steered() const;
  uint32_t issued(const RoundKey& key) const;
  uint64_t accepted(const RoundKey& key) const;
  const TicketShares& shares(const RoundKey& key) const { return served(key).shares; }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  struct Given {
    uint32_t issued = 0;
    uint64_t accepted = 0;
  };
  struct Round {
    Population population;
    uint32_t tickets = 0;
    TicketShares shares;
    std::map<std::string, Given> given;  // by incarnation, also of the dead
  };

  const Round& served(const RoundKey& key) const {
    return must_find(rounds_, key, "only a round that is served has shares and counts");
  }

  using Wants = std::map<std::string, uint64_t>;  // devices that want a ticket, by incarnation
  void deal(Round& round, const Wants& wants) const;
  Wants lacking(const RoundKey& key) const;
  Wants waiting_at(const Population& population) const;
  bool is_dealt_well(const RoundKey& key, const Round& round) const;
  static uint32_t issued_by(const Round& round, const std::string& incarnation);

  Millis silence_max_;
  std::map<std::string, NodeReport> living_;  // by incarnation
  std::map<RoundKey, Round> rounds_;
  StepCheck step_check_;
};

}  // namespace coterie
