// What a server says the time is: with an assignment, whose not_after is compared with it, and to a device whose
// request it refuses over the time that it was signed at. In the answer's headers: Coterie-Time (decimal) and
// Coterie-Signature (base64url), by the key of assignments, of
//
//   coterie-time-1
//   <the request's nonce, 32 hex digits>
//   <time, milliseconds since 1970 UTC>
//
// (UTF-8, lines end with \n, no line after the time's). The nonce makes the answer fresh: nobody can set a device's
// clock with an old one.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "secure/crypto/signature.h"
#include "secure/identity/request_signature.h"

namespace coterie {

Result<Bytes> sign_server_time(WallTime time, const Nonce& nonce, const Signer& signer);
bool server_time_is_valid(WallTime time, const Nonce& nonce, ByteView signature, ByteView server_key);

}  // namespace coterie
