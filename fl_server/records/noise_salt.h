// NoiseSalt: what the store keeps of an attempt's noise until the attempt ends (fl_server/privacy/noise_seed.h).
#pragma once

#include "secure/crypto/secret.h"

namespace coterie {

using NoiseSalt = Secret<32>;

}  // namespace coterie
