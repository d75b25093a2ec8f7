// CertificateRequest: a device's wish for a certificate, signed by the key that is to be certified. The app carries it
// to the authority, which judges it (certificate_authority.h). The server has no part in it.
//
// Bytes: the fields (secure/crypto/domain_fields.h)
//
//   "coterie/v1/certificate-request" | key algorithm | public key | population, 1 to 64 bytes | the present
//   certificate, or nothing | format of the attestation | nonce | attestation
//
// and, as one more field, the signature of them by that key.
#pragma once

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "proto/messages/secagg.h"
#include "secure/identity/attestation.h"

namespace coterie {

class Signer;

inline constexpr size_t kCertificateRequestBytesMax = kAttestationBytesMax + 4096;

struct CertificateRequest {
  DeviceIdentity identity;  // certificate: the one that is to be renewed; empty for a first one
  Population population;
  Attestation attestation;  // of none: a renewal alone
  friend bool operator==(const CertificateRequest&, const CertificateRequest&) = default;
};

// Key and algorithm are the signer's. invalid_argument: no such attestation; errors of the signer.
Result<Bytes> make_certificate_request(CertificateRequest request, const Signer& device);

// too_large, malformed; unauthenticated: not signed by the key in it.
Result<CertificateRequest> read_certificate_request(ByteView bytes);

}  // namespace coterie
