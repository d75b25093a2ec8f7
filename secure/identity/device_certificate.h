// DeviceCertificate: an authority's word that a key is a device's, of one population and for a time, for other devices
// to believe. Whoever runs the authority can invent devices; the server must not be it.
//
// Bytes: the fields (secure/crypto/domain_fields.h)
//
//   "coterie/v2/device-certificate" | issuer, 32 bytes | serial | population, 1 to 64 bytes | not_before | not_after |
//   lists, 0 or 1
//
// and, as one more field, the authority's Ed25519 signature of them and of two more: the key's algorithm and the key,
// which travel beside the certificate (DeviceIdentity). Times are whole seconds since 1970 UTC. ADR 79.
//
// Before 0.3 a certificate was a signature of algorithm and key alone, 64 bytes, for ever. Nobody takes one any more;
// whoever holds one is told so.
#pragma once

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "proto/messages/checkin.h"

namespace coterie {

class Signer;
struct DeviceIdentity;

inline constexpr size_t kAuthorityKeyBytes = 32, kEndlessCertificateBytes = 64;
inline constexpr size_t kCertifiedPopulationBytesMax = 64;
// Longer is refused, so that no certificate is for ever again.
inline constexpr std::chrono::days kCertificateValidityMax{400};
// By so much may the clocks of an authority and of whoever asks differ. Requests are refused at half of it
// (check_request_time): two clocks, each so far from the truth.
inline constexpr Millis kCertificateClockAllowance{600'000};

struct CertificateStatement {
  Digest issuer;        // authority_id
  uint64_t serial = 0;  // not 0; an authority gives each once
  Population population;
  WallTime not_before, not_after;  // whole seconds, at most kCertificateValidityMax apart
  // Whether the authority publishes lists of what it has revoked (revocation_list.h): then its devices judge others
  // with a list in hand that is not out of date.
  bool has_lists = false;
  friend bool operator==(const CertificateStatement&, const CertificateStatement&) = default;
};

// The name of an authority: a hash of its key.
Digest authority_id(ByteView authority_key);

// `statement.issuer` is filled in. invalid_argument: the authority's key is not Ed25519, `public_key` is no key of that
// algorithm, or the statement is out of range.
Result<Bytes> make_device_certificate(CertificateStatement statement, KeyAlgorithm algorithm, ByteView public_key,
                                      const Signer& authority);

// What identity.certificate says of identity's key. unauthenticated: not by this authority for this key, malformed, or
// endless. Whether it is valid now is the next one's to say.
Result<CertificateStatement> read_device_certificate(const DeviceIdentity& identity, ByteView authority_key);

// unauthenticated: for another population, not begun or ended, each with a sentence.
Status check_certificate_terms(const CertificateStatement& statement, const Population& population, WallTime now);

// Whether identity.certificate is this authority's for identity's key in the form before 0.3. Not that it is good for
// anything.
bool is_endless_certificate(const DeviceIdentity& identity, ByteView authority_key);

}  // namespace coterie
