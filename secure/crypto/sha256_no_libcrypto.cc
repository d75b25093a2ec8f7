#include "secure/crypto/sha256_stream.h"

namespace coterie {

Digest sha256_stream(ByteView prefix, ByteView message) { return sha256_portable(prefix, message); }

}  // namespace coterie
