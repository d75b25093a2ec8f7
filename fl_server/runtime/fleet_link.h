// What a scheduler and the nodes that talk to devices tell each other. In one process they call each other; in a fleet
// the words go through the store (fl_server/fleet).
//
// Everything here is a hint or a repetition of what the store knows: it may come late, twice or never, and no update is
// lost or counted twice for it.
//
// Threading: implementations may be called from any thread, hand the call on and return; they never call back in it.
#pragma once

#include <functional>

#include "fl_server/core/cohort_machine.h"
#include "scheduler/round/round_notice.h"

namespace coterie {

// From the scheduler.
class RoundBoard {
 public:
  virtual ~RoundBoard() = default;
  // A round that collects, or has collected: its assignment is signed, and has no ticket. Takes the place of any other
  // round of the same job, and of what was known of this one.
  virtual void serve(const RoundNotice& round) = 0;
  virtual void withdraw(const RoundKey& key) = 0;
  // No more than so many devices will be accepted in all.
  virtual void updates_due(const RoundKey& key, uint64_t total) = 0;
};

// From a node.
class NodeEvents {
 public:
  virtual ~NodeEvents() = default;
  virtual void pool_changed(const Population& population, uint64_t waiting) = 0;
  // Who waits here or is away, those twice (CheckinDesk::steered_here); said with tickets_lacking. Only a fleet wants
  // to know.
  virtual void devices_steered(const Population&, uint64_t) {}
  virtual void tickets_issued(const RoundKey& key, uint32_t total) = 0;
  // So many devices wait here for a ticket, as there is none left; said when asked for.
  virtual void tickets_lacking(const RoundKey& key, uint64_t devices) = 0;
  // So many accept rows are durable, by this node; and one of them.
  virtual void updates_accepted(const RoundKey& key, uint64_t total) = 0;
  virtual void update_accepted(const RoundKey& key, const DeviceId& device) = 0;
};

// Whoever keeps the sessions of secure aggregation of a round. `key` is that of the device's ticket. Callbacks come on
// a thread of the owner's and must only hand the answer on.
class CohortOwner {
 public:
  virtual ~CohortOwner() = default;
  virtual void cohort_receive(const RoundKey& key, const DeviceId& device, Bytes public_key, CohortMessage message,
                              std::function<void(Status)> answer) = 0;
  // Held until there is an answer, at most so long.
  virtual void cohort_ask(const RoundKey& key, const DeviceId& device, CohortQuestion question, Millis hold,
                          std::function<void(Result<CohortReply>)> answer) = 0;
  // A masked update with this header has come, its lanes fit: whether it is welcome.
  virtual void cohort_input_arrived(const RoundKey& key, const DeviceId& device, MaskedInput input,
                                    std::function<void(Status)> answer) = 0;
};

}  // namespace coterie
