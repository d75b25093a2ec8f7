// Attestation: what a platform says of the device or the app that a key belongs to, as the app got it, for an authority
// to judge before it certifies the key. Coterie carries it; what it means, its judge says.
//
// An authority gives a fresh nonce, and the app has the platform attest to something that follows from it, so that an
// old attestation, or another device's, is no good:
//
//   android-key       the nonce is the attestationChallenge of the device's own key, a P-256 key in its key store
//   play-integrity    attestation_hash() in base64url is the request hash of the standard API, or the classic one's
//   nonce app-attest        attestation_hash() is the clientDataHash
//   opaque            what the authority and the app have agreed on
//
// Sources: developer.android.com, "Verify hardware-backed key pairs with key attestation" and "Play Integrity API";
// developer.apple.com, "Validating apps that connect to your server".
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "proto/messages/checkin.h"

namespace coterie {

inline constexpr size_t kAttestationBytesMax = 32 * 1024;
inline constexpr size_t kAttestationNonceBytes = 32;

// Numbers of the request (certificate_request.h) and of the C interface.
enum class AttestationFormat : uint8_t { none = 0, android_key = 1, play_integrity = 2, app_attest = 3, opaque = 4 };

std::string_view to_string(AttestationFormat format);  // "android-key"; "none"

struct Attestation {
  AttestationFormat format = AttestationFormat::none;
  Bytes nonce;  // 32 bytes, the authority's; none without an attestation
  Bytes blob;   // android-key: the chain of certificates, as DER one behind the other, the key's first
  friend bool operator==(const Attestation&, const Attestation&) = default;
};

// Ranges, both of what is made and of what is read. invalid_argument.
Status validate(const Attestation& attestation);

struct CertificateRequest;

// What decides for an authority. Thread-safe.
class AttestationJudge {
 public:
  virtual ~AttestationJudge() = default;
  virtual AttestationFormat format() const = 0;
  // Whether request.attestation, which is of that format, shows what the authority asks for, of request.identity's key.
  // Its nonce was found to be the authority's and fresh. permission_denied, with what was expected and seen.
  virtual Status judge(const CertificateRequest& request, WallTime now) const = 0;
};

// SHA-256 of the fields (secure/crypto/domain_fields.h) "coterie/v1/attestation", nonce, population, key algorithm and
// public key: what binds an attestation that is not of the key itself to it.
Digest attestation_hash(ByteView nonce, const Population& population, KeyAlgorithm algorithm, ByteView public_key);

}  // namespace coterie
