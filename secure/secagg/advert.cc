#include "secure/secagg/advert.h"

#include <algorithm>
#include <set>
#include <string>

#include "secure/crypto/domain_fields.h"
#include "secure/crypto/hkdf.h"
#include "secure/secagg/fault.h"

namespace coterie::secagg {
namespace {

Bytes signed_text(const Digest& context, const KeyAdvert& advert) {
  DomainFields fields("coterie/v1/advert");
  fields.add(context.view())
      .add(static_cast<uint64_t>(advert.identity.key_algorithm))
      .add(advert.identity.public_key)
      .add(advert.mask_key)
      .add(advert.seal_key)
      .add(advert.seed_commitment.view())
      .add(advert.nonce);
  const ByteView text = fields.view();
  return Bytes(text.begin(), text.end());
}

}  // namespace

Digest seed_commitment(const Digest& context, const Secret<32>& seed) {
  // By HKDF, whose output is as good as a hash and whose buffers are wiped: DomainFields are not for secrets.
  DomainFields info("coterie/v1/seed-commitment");
  info.add(context.view());
  Digest commitment;
  hkdf_expand(seed, info.view(), commitment.bytes);
  return commitment;
}

Result<KeyAdvert> make_advert(const SessionParameters& parameters, const DeviceSecrets& secrets,
                              const DeviceCredentials& credentials) {
  KeyAdvert advert{.identity = {.key_algorithm = credentials.signer->algorithm(),
                                .public_key = credentials.signer->public_key(),
                                .certificate = credentials.certificate},
                   .mask_key = secrets.mask_key().public_key().bytes,
                   .seal_key = secrets.seal_key().public_key().bytes,
                   .seed_commitment = seed_commitment(parameters.context, secrets.own_seed()),
                   .nonce = secrets.nonce(),
                   .signature = {}};
  if (parameters.is_active()) {
    COT_ASSIGN(advert.signature, credentials.signer->sign(signed_text(parameters.context, advert)));
  }
  return advert;
}

Status check_advert(const SessionParameters& parameters, const KeyAdvert& advert,
                    const CertificateCheck& certificate_is_good) {
  if (!x25519_public_key_is_valid(point(advert.mask_key)) || !x25519_public_key_is_valid(point(advert.seal_key))) {
    return fault(Fault::low_order_point, "an advert's key is not a point that secrets can be agreed on with");
  }
  // The mask key of a device that vanishes is opened to the server. Were it the seal key, too, the server could open
  // the boxes of shares that were sealed for that device.
  if (advert.mask_key == advert.seal_key) {
    return fault(Fault::duplicate_key, "an advert has one key for masks and for sealed shares");
  }
  if (!parameters.is_active()) return {};
  if (const Status good = certificate_is_good(advert.identity); !good) {
    return fault(Fault::bad_certificate,
                 "an advert's identity is not certified by an authority that this device "
                 "trusts: " +
                     good.error().message());
  }
  if (!signature_is_valid(advert.identity.key_algorithm, advert.identity.public_key,
                          signed_text(parameters.context, advert), advert.signature)) {
    return fault(Fault::bad_signature, "an advert is not signed by its identity for this session");
  }
  return {};
}

Status check_distinct(std::span<const RosterEntry> entries) {
  std::set<Key32> keys;
  std::set<Bytes> identities;
  for (const auto& [device, advert] : entries) {
    // A device under two numbers would be counted as two of those that hide each other.
    if (!identities.insert(advert.identity.public_key).second) {
      return fault(Fault::duplicate_identity, "device " + std::to_string(device) + " has another one's identity");
    }
    if (!keys.insert(advert.mask_key).second || !keys.insert(advert.seal_key).second) {
      return fault(Fault::duplicate_key, "device " + std::to_string(device) + " has a key that another one advertises");
    }
  }
  return {};
}

}  // namespace coterie::secagg
