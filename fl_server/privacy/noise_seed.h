// NoiseSeed: the one secret behind all noise of one attempt of a round.
//
//   seed = HKDF-SHA256(salt = the attempt's salt, key = the server's noise key, info = job, round, attempt)
//
// The salt is drawn with the reserve and lies in the store until the attempt ends, or, with noise that rounds share,
// until a later round has taken it off; the noise key lies in a file. A
// server that dies between drawing noise and committing the model makes the same noise again from both; when the salt
// is erased nobody can any more, so that a key or a copy of the database that is stolen later takes no noise off a
// model.
#pragma once

#include "base/ids.h"
#include "fl_server/records/noise_salt.h"
#include "secure/crypto/mac.h"
#include "secure/dp/noise/key_stream_source.h"

namespace coterie {

class NoiseSeed {
 public:
  NoiseSeed(const MacKey& noise_key, const NoiseSalt& salt, const JobId& job, const RoundKey& round);

  // HMAC of the seed: binds the ledger's commit to this noise and tells nothing about it.
  Digest commitment() const;
  // An independent stream for each `purpose`, printable ASCII.
  Result<KeyStreamSource> stream(std::string_view purpose) const;

 private:
  Secret<32> seed_;
};

}  // namespace coterie
