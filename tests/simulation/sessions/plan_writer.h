// PlanWriter: a server that lies in its plans. It writes their fields as it likes, repeats rounds and attempts, has
// jobs side by side over the same devices and models, ends any session for any device at any moment, and knows what up
// to a third of a roster (in a graph that devices draw: a tenth) know. Devices are the real participant machines,
// killed at random. What goes on inside a session is the other simulation's (session_world.h); here a session is what
// it promises: a sum, over one set, for whoever has the shares of `threshold` devices.
//
//   recovered   one device's update follows from all that the server knows, though its policy is of level active
//   lowered     a device went on below the level of an earlier plan of the job; or, if its policy keeps levels, of any
//   ground      a device drew holders for one round more often than its policy allows
#pragma once

#include "tests/simulation/sessions/session_oracle.h"

namespace coterie::simulation {

// One server's plans, some twenty sessions of them. A broken variant of a rule of plans breaks that one.
SessionVerdict simulate_plans(uint64_t seed, SessionMutant mutant = SessionMutant::none);

// Whether it is a rule of plans that this variant breaks, or one of sessions.
bool is_of_plans(SessionMutant mutant);

}  // namespace coterie::simulation
