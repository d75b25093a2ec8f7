// A device's advert: made, signed, and looked at by everybody else.
#pragma once

#include <functional>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/secagg.h"
#include "secure/crypto/signature.h"
#include "secure/crypto/x25519.h"
#include "secure/secagg/device_secrets.h"
#include "secure/secagg/session.h"

namespace coterie::secagg {

// Whether an identity's certificate is by an authority that the asking party trusts, and good now; an error says why
// not. Thread-safe.
using CertificateCheck = std::function<Status(const DeviceIdentity&)>;

// Who a device is, and how it signs. The signer outlives the session.
struct DeviceCredentials {
  const Signer* signer = nullptr;
  Bytes certificate;
};

// Binds a device to the seed of its own mask before anybody has a share of it. The seed has 256 random bits, so that
// its hash hides it.
Digest seed_commitment(const Digest& context, const Secret<32>& seed);

Result<KeyAdvert> make_advert(const SessionParameters& parameters, const DeviceSecrets& secrets,
                              const DeviceCredentials& credentials);

// low_order_point: a key that is no point of the curve's large group, or not in its one encoding; duplicate_key: one
// key for both purposes; active: bad_certificate, bad_signature.
Status check_advert(const SessionParameters& parameters, const KeyAdvert& advert,
                    const CertificateCheck& certificate_is_good);

// duplicate_identity, duplicate_key: two adverts share an identity or a key of either purpose.
Status check_distinct(std::span<const RosterEntry> entries);

inline X25519PublicKey point(const Key32& key) { return X25519PublicKey{key}; }

}  // namespace coterie::secagg
