// RoundPolicy: when a round begins, and when the updates that it has are what its model is made of. The rest of a
// round's life (moves in the store, retries, restarts, an operator's commands) is RoundMachine's, whatever the policy.
//
// A synchronous round chooses its devices at once and waits for its goal. A buffered one (ADR 114) takes whoever is
// done, whichever round it was asked by: it collects once a device is there, and asks as many devices for new work as
// it is to count. It differs in these answers alone. Pure; makes no promise of its own beyond the settings'.
//
// Synchronous rounds with over-selection, a goal and a deadline: Bonawitz et al., "Towards Federated Learning at
// Scale: System Design" (2019), sections 2.2 and 4.2.
#pragma once

#include <cstdint>

#include "scheduler/job/horizontal_settings.h"

namespace coterie {

// Devices of the job's population that wait for a round.
struct WaitingPool {
  uint64_t devices = 0;
  uint32_t nodes = 0;       // servers that they wait at
  bool is_overdue = false;  // selecting_max has passed
};

// What is known of a round that collects.
struct CollectedUpdates {
  uint64_t accepted = 0;    // durable updates; a lower bound unless they were counted
  bool is_late = false;     // collecting_max has passed
  bool is_counted = false;  // `accepted` was counted in the store after that
};

enum class CollectedVerdict : uint8_t {
  wait,         // more updates may come, or they must be counted first
  freeze,       // these updates are the round's
  let_more_in,  // too few for a release, and those accepted were promised to count: move the deadline; or no buffer yet
  fail_attempt,  // nobody was accepted: nothing is lost by another attempt
};

// The attempt whose tickets are counted.
struct TicketedAttempt {
  uint64_t round_number = 1;
  uint32_t attempt = 1;
  uint32_t extensions = 0;  // how often its deadline has moved
};

class RoundPolicy {
 public:
  // Keeps a reference: `settings` must outlive this, which is meant to be made where it is asked.
  explicit RoundPolicy(const HorizontalSettings& settings) : settings_(settings) {}

  // Whether devices may be chosen now. Synchronous: at least nodes_min nodes, and a full pool, or an overdue one that
  // could succeed. Buffered: at least nodes_min nodes, and a device.
  bool may_choose(const WaitingPool& pool) const;

  // While updates may still arrive.
  CollectedVerdict judge(const CollectedUpdates& updates) const;

  // When no update can arrive any more, because the roster of a masked round is closed: `freeze` or `fail_attempt`.
  CollectedVerdict judge_last(uint64_t accepted) const;

  // Tickets for new work. Who joins with an update takes none of them.
  uint32_t ticket_count(const TicketedAttempt& attempt) const;

 private:
  const HorizontalSettings& settings_;
};

}  // namespace coterie
