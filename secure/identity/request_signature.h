// Signed requests: how a device proves who it is, one request at a time, over any number of balancers.
//
// Signed text (UTF-8, lines end with \n, no line after the nonce's):
//
//   coterie-request-1
//   <METHOD>
//   <target, as on the request line>
//   <Content-Length, decimal>
//   <content digest of the body, hex, or - if the request carries none>
//   <device id, hex>
//   <time, milliseconds since 1970 UTC>
//   <nonce, 32 hex digits>
//
// Headers: Coterie-Device, Coterie-Time, Coterie-Nonce, Coterie-Signature (base64url), Coterie-Digest (hex). The digest
// is required for every body but an update's, which TLS protects and which would cost more to hash than to receive.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "secure/crypto/signature.h"

namespace coterie {

using Nonce = std::array<uint8_t, 16>;

// What is signed beside the device's own claims.
struct SignedRequest {
  std::string_view method;
  std::string_view target;
  uint64_t content_length = 0;
  std::optional<Digest> digest;
};

struct RequestClaims {
  DeviceId device;
  WallTime time;
  Nonce nonce{};
  Bytes signature;
};

std::string request_signature_text(const SignedRequest& request, const DeviceId& device, WallTime time,
                                   const Nonce& nonce);

// Claims for one request, made now with a fresh nonce.
Result<RequestClaims> sign_request(const SignedRequest& request, const DeviceId& device, WallTime now,
                                   const Nonce& nonce, const Signer& signer);

// Whether the request was signed within `skew_max` of `now`; unauthenticated if not.
Status check_request_time(const RequestClaims& claims, WallTime now, Millis skew_max);
// The signature. Replays are the ReplayGuard's business.
Status verify_request(const SignedRequest& request, const RequestClaims& claims, KeyAlgorithm algorithm,
                      ByteView public_key);

// Enrollment is signed by the key that is being enrolled.
std::string enrollment_proof_text(std::string_view token, ByteView public_key);

}  // namespace coterie
