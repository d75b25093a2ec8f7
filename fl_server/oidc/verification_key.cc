#include "fl_server/oidc/verification_key.h"

#include "secure/crypto/signature.h"

namespace coterie {
namespace {

struct AlgorithmOf {
  JwsAlgorithm operator()(const RsaPublicKey&) const { return JwsAlgorithm::rs256; }
  JwsAlgorithm operator()(const P256PublicKey&) const { return JwsAlgorithm::es256; }
  JwsAlgorithm operator()(const Ed25519PublicKey&) const { return JwsAlgorithm::eddsa; }
};

struct Verify {
  ByteView message;
  ByteView signature;

  bool operator()(const RsaPublicKey& key) const { return rs256_is_valid(key, message, signature); }
  bool operator()(const P256PublicKey& key) const { return p256_raw_signature_is_valid(key.point, message, signature); }
  bool operator()(const Ed25519PublicKey& key) const {
    return signature_is_valid(KeyAlgorithm::ed25519, key.bytes, message, signature);
  }
};

}  // namespace

std::optional<JwsAlgorithm> jws_algorithm_from_name(std::string_view name) {
  if (name == "RS256") return JwsAlgorithm::rs256;
  if (name == "ES256") return JwsAlgorithm::es256;
  if (name == "EdDSA") return JwsAlgorithm::eddsa;
  return std::nullopt;
}

JwsAlgorithm VerificationKey::algorithm() const { return std::visit(AlgorithmOf{}, key); }

bool VerificationKey::verifies(ByteView message, ByteView signature) const {
  return std::visit(Verify{message, signature}, key);
}

}  // namespace coterie
