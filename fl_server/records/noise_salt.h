// NoiseSalt: what the store keeps of an attempt's noise until the attempt ends (fl_server/privacy/noise_seed.h). Where
// rounds share their noise: until a later round has taken it off (LedgerStore::ended_noise).
#pragma once

#include "secure/crypto/secret.h"

namespace coterie {

using NoiseSalt = Secret<32>;

}  // namespace coterie
