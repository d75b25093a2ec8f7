// Mischief: how a hostile device goes against the protocol, one way each. Who signs a request is out of its reach.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "secure/secagg/session.h"
#include "tests/simulation/sessions/server_port.h"

namespace coterie::simulation {

enum class Mischief : uint8_t {
  none,
  breaks_boxes,      // some of its sealed shares do not open
  deals_badly,       // a holder gets shares of something else
  wrong_shares,      // it hands out something else than the shares it was given
  other_commitment,  // it advertises another seed than it shares
  foreign_lanes,     // its masked update is noise
  wrong_digest,      // and what it says of the lanes is not theirs
  wrong_lane_count,
  wide_lanes,    // lanes beyond the ring
  false_report,  // of boxes that did not open
  bad_confirmation,
  names_another,  // as the sender
  equivocates,    // says two things in each phase
  replays,        // what it said in an earlier phase, too
};

Mischief draw_mischief(Prng& prng);

// What is sent in the place of `message`: one or more messages. `told` is what it has told before, kept up to date
// here.
std::vector<DeviceMessage> make_mischief(Mischief mischief, Prng& prng, const secagg::SessionParameters& parameters,
                                         std::vector<DeviceMessage>& told, const DeviceMessage& message);

}  // namespace coterie::simulation
