// libsodium must be initialised before its first use; every file here that calls it asks this first.
#pragma once

namespace coterie {

void ensure_sodium();

}  // namespace coterie
