// A key that verifies tokens. What kind of key it is decides the algorithm, never the token: an RSA key
// verifies RS256 and nothing else, so that its public bytes can never be taken for the secret of an HMAC (RFC
// 8725 section 2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "secure/crypto/rsa.h"

namespace coterie {

// All there are: RSASSA-PKCS1-v1_5 and ECDSA P-256, both with SHA-256 (RFC 7518 section 3), and Ed25519 (RFC
// 8037).
enum class JwsAlgorithm : uint8_t { rs256, es256, eddsa };

// By its name in `alg`, to the letter: "none", "HS256" and every other is nothing.
std::optional<JwsAlgorithm> jws_algorithm_from_name(std::string_view name);

struct P256PublicKey {
  Bytes point;  // 65 bytes, uncompressed
};
struct Ed25519PublicKey {
  Bytes bytes;  // 32
};

struct VerificationKey {
  std::string kid;  // empty: has none
  std::variant<RsaPublicKey, P256PublicKey, Ed25519PublicKey> key;

  JwsAlgorithm algorithm() const;
  bool verifies(ByteView message, ByteView signature) const;
};

}  // namespace coterie
