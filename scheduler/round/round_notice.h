// RoundNotice: what a node that talks to devices must know of one attempt of a round. The same struct goes from the
// round machine to the scheduler, to the nodes of this process, and over the board to those of other processes.
//
// Whatever is here is true wherever it is read: a node reads no field that only the leader fills. What the leader alone
// needs is AttemptRules (attempt_rules.h); what masks need is derived by terms_of (fl_server/core/attempt_terms.h).
//
// It is here and not among the messages (proto/messages), as no device ever sees one and RoundState is the scheduler's.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "proto/messages/checkin.h"
#include "proto/messages/plan.h"
#include "scheduler/job/records.h"
#include "scheduler/selection/selection_settings.h"

namespace coterie {

struct RoundNotice {
  JobId job;
  Population population;
  RoundKey key;
  uint64_t number = 0;  // of the round within its job
  RoundState state = RoundState::selecting;

  // What a device is given, but for its ticket. The round machine fills all but `not_after` and the signature, which
  // the scheduler adds when it serves the round.
  Assignment assignment;
  // What the attempt asks of devices. `assignment.plan` is the digest of its frame once the round is served: the head
  // of the privacy ledger in it is the attempt's, not the job's.
  Plan plan;

  uint32_t weight = 1;                       // of the job, where several want the same devices
  uint32_t ticket_count = 0;                 // to give while collecting: of the round, or this node's share of them
  uint32_t extensions = 0;                   // how often its deadline has moved, as too few updates had come
  uint32_t goal_count = 0;                   // accepted updates that close the round
  bool keeps_updates = false;                // single updates are stored, or sums of cohorts
  SelectionSettings selection = {};          // who of those who wait gets the tickets
  std::optional<uint64_t> updates_due = {};  // no more than so many will be accepted in all; not set: not known

  friend bool operator==(const RoundNotice&, const RoundNotice&) = default;
};

}  // namespace coterie
