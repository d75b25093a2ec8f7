// The server's word on a population's log: a head of it, signed with the key that devices pinned when they enrolled.
//
// Signed is DomainFields "coterie/v1/log-head" with the population, the size and the root. Nothing else the key signs
// begins so. Pure.
#pragma once

#include "proto/messages/population_log.h"
#include "secure/crypto/signature.h"

namespace coterie {

// Fills in the signature.
Status sign_log_head(SignedLogHead& head, const Signer& signer);

// refused, if the signature is not the pinned key's.
Status verify_log_head(const SignedLogHead& head, ByteView signing_key);

}  // namespace coterie
