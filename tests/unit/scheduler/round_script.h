// Scripts of the round machine: a text file of events, below each the effects it had. Kept under tests/golden/rounds.
//
//   job count=2 goal_count=3        the job's settings, before anything else; times in ms
//   @1500 pool 4                    an event; @ moves the clock first
//   won                             an answer: to the newest request, or with serial=n to an older one
//     > ask 4 move 7.1 ...          what the machine did, written by the runner
//     > wake 2500                   its next deadline, when that changed
//
// Events: start, restart (a new machine, started), loaded, opened, counted, won, lost, finalized, committed,
// job_failed, failed <code> (whatever was asked last), pool, tickets, accepted, job_state, tick; their options are in
// round_script.cc.
#pragma once

#include <string>
#include <vector>

namespace coterie::test {

// The script with the effects of a fresh machine filled in; lines that begin with "  >" are dropped first. A line that
// is not understood comes back as "  > ERROR ...".
std::string play_round_script(const std::string& script);

// Plays the script again for each of its steps and each kind of failure: up to that step, then the failure in the place
// of the step, then with a store that answers truthfully (RoundStoreModel). The machine's invariants must hold
// throughout, and the job must come to its end. Returns what went wrong, a sentence for each; `replays` counts.
std::vector<std::string> play_with_failures(const std::string& script, int& replays);

}  // namespace coterie::test
