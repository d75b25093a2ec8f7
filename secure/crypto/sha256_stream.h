// SHA-256 of one message, in one of two ways that the build chooses between. Private to secure/crypto.
#pragma once

#include "base/bytes.h"

namespace coterie {

// SHA-256(prefix || message): by libcrypto (sha256_libcrypto.cc), which uses the CPU's SHA instructions; in the engine
// alone, which links no library, and in an SDK without OpenSSL, sha256_portable (sha256_no_libcrypto.cc).
Digest sha256_stream(ByteView prefix, ByteView message);

// The same by FIPS 180-4 section 6.2.2 in plain C++. 0.2 GB/s.
Digest sha256_portable(ByteView prefix, ByteView message);

}  // namespace coterie
