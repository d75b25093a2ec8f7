// The server's word on a population's log: a head of it, signed with the key that devices have pinned.
//
// Signed is DomainFields "coterie/v1/log-head" with the population, the size and the root. Nothing else the key signs
// begins so. Pure.
#pragma once

#include "proto/messages/pinned_keys.h"
#include "proto/messages/population_log.h"
#include "secure/crypto/signature.h"

namespace coterie {

// Fills in the signature.
Status sign_log_head(SignedLogHead& head, const Signer& signer);

// refused, if the signature is of none of the pinned keys. One whose time is over will do: a head is believed for the
// plan that it is in, and the assignment that names the plan is by a key of its time.
Status verify_log_head(const SignedLogHead& head, const PinnedKeys& keys);

}  // namespace coterie
