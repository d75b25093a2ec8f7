// What one simulated world is like: how many of everything, and how badly it is treated. Drawn from the seed, so that
// every seed is another kind of bad day (swarm testing).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "proto/messages/secagg.h"
#include "tests/support/memory_training_store.h"

namespace coterie::simulation {

// One guarantee broken on purpose (mutants.h). The checker must notice.
enum class Mutant : uint8_t {
  none,
  ack_before_commit,       // the ingest machine answers as soon as an update is in its sum
  hopeful_lookup,          // the ingest machine takes a store that does not say who is accepted for a yes
  doubt_is_consent,        // the ingest machine takes a batch whose commit is in doubt for done
  conflict_for_all,        // the ingest machine answers all of a batch that met a conflict as if they were in it
  early_partials,          // the finalizer sums the partials there were before the freeze
  orphans_at_once,         // a new leader removes partial sums without a row though their batch may be on its way
  share_forgotten,         // the member machine serves rounds without their tickets
  board_of_first_round,    // the lead machine writes no round but a job's first
  deaf_lead,               // the lead machine hears of no node
  buffer_not_cleared,      // the node's shell goes on adding to a sum that is already on its way to the store
  masked_twice,            // the node's shell adds a masked update to its sum twice
  unmasked_before_freeze,  // the attempt machine hears of two survivors though the round takes more
  sessions_over_rows,      // the attempt machine does not hear that an earlier leader's sessions left accept rows
  loss_untold,             // the round machine does not hear that its attempt is lost
  no_idempotence,          // the store writes a repeated batch again
  no_conflict_check,       // the store lets a device be accepted twice
  no_state_check,          // the store takes batches after the freeze
  early_commit,            // the participant machine keeps a state when training ends, not when its update is counted
  closed_is_over,          // the participant machine leaves a round that may still count its update, and joins the next
  late_dropped,            // the participant machine gives an update up with its round, though a later one may count it
  masked_is_unsent,        // the participant machine hears that a session is without its update, which may have left
};
inline constexpr Mutant kMutants[] = {Mutant::none,
                                      Mutant::ack_before_commit,
                                      Mutant::hopeful_lookup,
                                      Mutant::doubt_is_consent,
                                      Mutant::conflict_for_all,
                                      Mutant::early_partials,
                                      Mutant::orphans_at_once,
                                      Mutant::share_forgotten,
                                      Mutant::board_of_first_round,
                                      Mutant::deaf_lead,
                                      Mutant::buffer_not_cleared,
                                      Mutant::masked_twice,
                                      Mutant::unmasked_before_freeze,
                                      Mutant::sessions_over_rows,
                                      Mutant::loss_untold,
                                      Mutant::no_idempotence,
                                      Mutant::no_conflict_check,
                                      Mutant::no_state_check,
                                      Mutant::early_commit,
                                      Mutant::closed_is_over,
                                      Mutant::late_dropped,
                                      Mutant::masked_is_unsent};
std::string_view to_string(Mutant mutant);

struct WorldOptions {
  uint64_t seed = 1;
  Mutant mutant = Mutant::none;

  uint32_t rounds = 10;
  uint32_t nodes = 2;
  uint32_t schedulers = 2;
  uint32_t devices = 12;
  uint32_t goal_count = 8;
  double over_selection = 1.2;

  // Buffered rounds: what comes late joins the next one.
  bool is_buffered = false;
  uint32_t concurrency = 0;

  // Secure aggregation. Its faults are those of all worlds: what is lost are messages of its sessions, too.
  SecurityLevel level = SecurityLevel::none;
  double dropout_share = 0.1;  // that the plan counts on
  uint32_t cohort_max = 0;     // devices of one cohort; 0: all are in one
  bool is_masked() const { return level != SecurityLevel::none; }

  // What may happen to every message, while faults are on.
  double loss = 0;
  double duplication = 0;
  Millis delay_max{20};  // one way; drawn anew for each message, so messages overtake each other

  // Mean time between events, while faults are on; 0: never.
  Millis node_crash_every{0};
  Millis scheduler_crash_every{0};
  Millis scheduler_stop_every{0};  // stands still, and goes on as if nothing had been
  Millis scheduler_stop_max{30'000};
  Millis partition_every{0};  // one process does not reach the store
  Millis partition_max{8'000};
  Millis clock_jump_every{0};  // of one node's wall clock, there and back
  Millis device_crash_every{0};
  Millis store_outage_every{0};
  Millis store_outage_max{2'000};
  double store_answer_loss = 0;  // the store did it, but the answer is lost
  double spill_failure = 0;      // a node's disk refuses a partial sum

  Millis store_delay_max{5};
  Millis spill_delay_max{20};
  Millis train_max{2'000};
  Millis faults_until{120'000};  // after that, everything must come to a good end
  Millis stuck_after{1'800'000};
};

// A broken variant gets worlds in which it can be seen.
// Some worlds have masked updates; with `all_masked`, all.
WorldOptions options_from_seed(uint64_t seed, Mutant mutant = Mutant::none, bool all_masked = false);

}  // namespace coterie::simulation
