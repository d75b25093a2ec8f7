// DeviceCertificate: an authority's word that a key is a device's, for other devices to believe. Whoever runs the
// authority can invent devices; the server must not be it.
//
// An Ed25519 signature (64 bytes) of "coterie/v1/device-certificate", the key's algorithm and the key (secure/crypto/
// domain_fields.h). There is no expiry: an authority that takes its word back is replaced.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/secagg.h"
#include "secure/crypto/signature.h"

namespace coterie {

inline constexpr size_t kAuthorityKeyBytes = 32, kDeviceCertificateBytes = 64;

// invalid_argument: the authority's key is not Ed25519, or `public_key` is no key of that algorithm.
Result<Bytes> make_device_certificate(KeyAlgorithm algorithm, ByteView public_key, const Signer& authority);

// Whether identity.certificate is this authority's and for identity's key.
bool device_certificate_is_valid(const DeviceIdentity& identity, ByteView authority_key);

}  // namespace coterie
