// The signed part of an assignment: which plan, which model, which version. A device believes nothing else.
//
//   coterie-manifest-1 \n job \n round \n attempt \n model version \n plan digest \n plan bytes \n model digest \n
//   model bytes \n not_after (unix ms)          (decimal and hex as elsewhere, no spaces, no final newline)
//
// signed with the server's Ed25519 key, which the device pinned when it enrolled, or one that came after it.
#pragma once

#include <string>

#include "proto/messages/checkin.h"
#include "proto/messages/pinned_keys.h"
#include "secure/crypto/signature.h"

namespace coterie {

std::string manifest_text(const Assignment& assignment);

Status sign_manifest(Assignment& assignment, const Signer& signer);

// refused, if the signature is of none of the keys that are believed at `now`.
Status verify_manifest(const Assignment& assignment, const PinnedKeys& keys, WallTime now);

}  // namespace coterie
