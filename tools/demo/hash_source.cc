#include "tools/demo/hash_source.h"

#include "base/text/base64.h"
#include "secure/crypto/sha256.h"

namespace coterie {

std::string hash_source(std::string_view text) { return "'sha256-" + to_base64(sha256(as_bytes(text)).bytes) + "'"; }

}  // namespace coterie
