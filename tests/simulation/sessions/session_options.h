// What one simulated session of secure aggregation is like: who takes part, how badly the network treats them, and who
// lies. Drawn from the seed, so that every seed is another kind of bad day (swarm testing).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/time.h"
#include "secure/secagg/session.h"

namespace coterie::simulation {

// One guarantee broken on purpose. The oracle must notice.
enum class SessionMutant : uint8_t {
  none,
  sums_twice,          // the server adds a masked update again when it comes again
  no_check_lanes,      // the server releases a sum whose check lanes are wrong
  forgets_input,       // the server adds a masked update that its session does not hear of
  no_deadlines,        // the server waits for everybody, for ever
  no_confirmations,    // devices open their shares without looking at survivors and confirmations
  answers_twice,       // and do it as often as they are asked
  acts_before_saving,  // devices save a message when its answer has arrived, not before they make it
  trusts_anybody,      // devices take any certificate
  too_many_corrupt,    // nothing is broken, but the server has more accomplices than a session allows for
  // Rules of plans (plan_writer.h), that devices do not keep.
  takes_any_share,    // of corrupt devices
  takes_any_attempt,  // of a round
  opens_again,        // a sum of a model in an opened sum
  counts_afterwards,  // an opening, when the session has ended well
  takes_any_level,
  forgets_level,  // of earlier plans, between two lives
};
std::span<const SessionMutant> all_session_mutants();  // none first
std::string_view to_string(SessionMutant mutant);

// What a hostile server does besides being one; all at once, if drawn so.
struct Attack {
  bool two_rosters = false;  // devices are told of two cohorts, and see adverts of both
  bool two_models = false;   // the second cohort is told another model
  bool two_sets = false;     // devices of one cohort are told of two survivor sets
  bool fickle = false;       // who asks again is told of another set
  bool pushes = false;       // requests that nobody asked for follow answers
  bool sybils = false;       // adverts of identities that nobody has enrolled
  double lie = 0;            // of any message: it is changed, is another device's, or is of another session
};

struct SessionOptions {
  uint64_t seed = 1;
  SessionMutant mutant = SessionMutant::none;

  secagg::SessionParameters parameters;
  uint32_t devices = 6;          // accomplices of the server included
  uint32_t hostile_devices = 0;  // that lie to an honest server, each in its own way
  bool hostile_server = false;
  uint32_t accomplices = 0;  // of a hostile server: it knows all that they know
  Attack attack;

  // What may happen to every message.
  double loss = 0;
  double duplication = 0;
  Millis delay_max{20};  // one way; drawn anew for each message, so messages overtake each other

  double leaves = 0;             // of devices: stops for good, at a moment drawn for each
  Millis device_crash_every{0};  // mean time between kills of a device; 0: never
  double crash_in_step = 0;      // of every step of a device: killed between saving a message and acting on it
  double state_loss = 0;         // of kills: what was saved is gone, too
  bool server_crash = false;     // once

  uint32_t adverts_goal = 6;
  uint32_t updates_goal = 6;  // the round is frozen with so many, whoever else may come
  Millis start_max{2'000};    // devices are done training within it
  Millis store_delay{5};      // from a masked update to its receipt
  Millis advertising_max{20'000};
  Millis phase_max{5'000};
  Millis collecting_max{60'000};  // of the round: then it is frozen with whatever has come

  // Nothing goes wrong: there must be a sum of everybody.
  bool is_quiet() const;
  // When everybody has come to an end, whatever happened.
  Millis ends_within() const { return collecting_max + advertising_max + 8 * phase_max + Millis(60'000); }
};

SessionOptions session_options_from_seed(uint64_t seed, SessionMutant mutant = SessionMutant::none);

}  // namespace coterie::simulation
