// What a device can do that keeps its secrets but not the rules: for broken variants, and for hostile devices.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/secagg.h"
#include "secure/secagg/session.h"

namespace coterie::simulation {

// The shares of those whose boxes are in the inbox, of the kind that the request's survivors call for; nothing is
// checked. `seed` is the one that the client was made with.
Result<Unmasking> unmask_unchecked(const secagg::SessionParameters& parameters, const Bytes& seed,
                                   const RosterView& view, const ShareInbox& inbox, const UnmaskRequest& request);

// Seals shares of nothing for the first of the holders: whoever opens them will hand on what is wrong.
void deal_badly(const secagg::SessionParameters& parameters, const Bytes& seed, const RosterView& view,
                SealedShares& shares);

}  // namespace coterie::simulation
