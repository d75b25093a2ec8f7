#include "tools/demo/hash_source.h"

#include "base/bytes.h"
#include "secure/crypto/sha256.h"

namespace coterie {

std::string hash_source(std::string_view text) {
  const Digest digest = sha256(as_bytes(text));
  std::string base64 = to_base64url(digest.bytes);
  for (char& c : base64) c = c == '-' ? '+' : c == '_' ? '/' : c;
  base64.append((4 - base64.size() % 4) % 4, '=');
  return "'sha256-" + base64 + "'";
}

}  // namespace coterie
