#include "secure/identity/device_certificate.h"

#include "secure/crypto/domain_fields.h"

namespace coterie {
namespace {

DomainFields certificate_text(KeyAlgorithm algorithm, ByteView public_key) {
  DomainFields fields("coterie/v1/device-certificate");
  fields.add(static_cast<uint64_t>(algorithm)).add(public_key);
  return fields;
}

}  // namespace

Result<Bytes> make_device_certificate(KeyAlgorithm algorithm, ByteView public_key, const Signer& authority) {
  if (authority.algorithm() != KeyAlgorithm::ed25519) {
    return Error(ErrorCode::invalid_argument, "device certificate: the authority's key must be Ed25519");
  }
  if (!public_key_is_valid(algorithm, public_key)) {
    return Error(ErrorCode::invalid_argument, "device certificate: not a public key of its algorithm");
  }
  return authority.sign(certificate_text(algorithm, public_key).view());
}

bool device_certificate_is_valid(const DeviceIdentity& identity, ByteView authority_key) {
  return signature_is_valid(KeyAlgorithm::ed25519, authority_key,
                            certificate_text(identity.key_algorithm, identity.public_key).view(), identity.certificate);
}

}  // namespace coterie
