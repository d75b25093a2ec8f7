// What one simulated world of vertical jobs is like, drawn from its seed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace coterie::simulation {

// One rule broken on purpose, which the oracle must notice.
enum class VerticalMutant : uint8_t {
  none,
  checkpoint_after_words,  // a checkpoint is durable when the words of two more units are said
  checkpoints_forgotten,   // both parties keep a third of their checkpoints
  buckets_forgotten,       // no party keeps what it has matched in a bucket
  stale_position,          // a party that is started again has its checkpoints of before
  told_before_stored,      // the shell answers before it stores
  close_ignored,           // the shell goes on carrying what a cancelled or paused job's parties say
  refused_kept,            // the shell lets somebody who was refused listen to the pair
  pairs_crossed,           // the shell carries a party's words to another job's
  dealt_anew,              // the coordinator has another secret for its dealing behind each start
  dealt_alike,             // the dealing knows neither the job nor the journals
  kind_changed,            // the shell carries a frame as one of another kind
  state_put_back,          // the shell stores a job that lost a party as one that never ran
  unapproved_paired,       // the shell pairs parties that were refused for want of an approval
  last_list_unheard,       // the matcher of a ring compares without the last party's lists
  matcher_kept,            // the matcher of a ring has what it had heard before a party was lost
  sample_stale,            // a ring's second feature party looks at the rows of the round before
};
std::span<const VerticalMutant> all_vertical_mutants();
std::string_view to_string(VerticalMutant mutant);

enum class VerticalFault : uint8_t { cut, stall, kill_party, kill_all, kill_coordinator, pause, cancel, abandon };
constexpr uint64_t kVerticalFaults = 8;

struct PlannedFault {
  uint64_t at_piece = 0;  // behind so many pieces that the coordinator has carried
  VerticalFault fault = VerticalFault::cut;
  uint32_t job = 0, party = 0;
};

struct VerticalOptions {
  uint64_t seed = 0;
  VerticalMutant mutant = VerticalMutant::none;
  std::vector<uint32_t> jobs;  // numbers (vertical_job.h), at the same time
  Millis delay_max{5};         // of a piece on a connection
  Millis restart_max{5'000};   // until somebody starts a program again that was killed
  uint32_t pairs_max = 16;
  double kill_chance = 0;         // that a life of a program is given an effect at which it is killed
  uint64_t kill_effects_max = 1;  // which is one of so many
  uint32_t kills_max = 0;         // of a program, so that a world ends
  bool has_stranger = false;      // somebody asks whose certificate no manifest names
  std::vector<PlannedFault> faults;
};

VerticalOptions vertical_options_from_seed(uint64_t seed, VerticalMutant mutant = VerticalMutant::none);
// The job alone, and nothing happens to it.
VerticalOptions undisturbed(uint32_t job);

}  // namespace coterie::simulation
