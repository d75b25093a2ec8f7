#include "secure/identity/server_time.h"

namespace coterie {
namespace {

std::string text_of(WallTime time, const Nonce& nonce) {
  return "coterie-time-1\n" + to_hex(nonce) + "\n" + std::to_string(unix_ms(time));
}

}  // namespace

Result<Bytes> sign_server_time(WallTime time, const Nonce& nonce, const Signer& signer) {
  return signer.sign(as_bytes(text_of(time, nonce)));
}

bool server_time_is_valid(WallTime time, const Nonce& nonce, ByteView signature, ByteView server_key) {
  return signature_is_valid(KeyAlgorithm::ed25519, server_key, as_bytes(text_of(time, nonce)), signature);
}

}  // namespace coterie
