#include "secure/identity/request_signature.h"

namespace coterie {

std::string request_signature_text(const SignedRequest& request, const DeviceId& device, WallTime time,
                                   const Nonce& nonce) {
  std::string text = "coterie-request-1\n";
  text += request.method;
  text += '\n';
  text += request.target;
  text += '\n';
  text += std::to_string(request.content_length);
  text += '\n';
  text += request.digest ? request.digest->hex() : "-";
  text += '\n';
  text += device.hex();
  text += '\n';
  text += std::to_string(unix_ms(time));
  text += '\n';
  text += to_hex(nonce);
  return text;
}

Result<RequestClaims> sign_request(const SignedRequest& request, const DeviceId& device, WallTime now,
                                   const Nonce& nonce, const Signer& signer) {
  RequestClaims claims{.device = device, .time = now, .nonce = nonce, .signature = {}};
  COT_ASSIGN(claims.signature, signer.sign(as_bytes(request_signature_text(request, device, now, nonce))));
  return claims;
}

Status check_request_time(const RequestClaims& claims, WallTime now, Millis skew_max) {
  // Unsigned, because a stranger may claim any time.
  const auto theirs = static_cast<uint64_t>(unix_ms(claims.time)), ours = static_cast<uint64_t>(unix_ms(now));
  const uint64_t skew = claims.time > now ? theirs - ours : ours - theirs;
  if (skew > static_cast<uint64_t>(skew_max.count())) {
    return Error(ErrorCode::unauthenticated, "the request's time differs from the server's by " + std::to_string(skew) +
                                                 " ms, at most " + std::to_string(skew_max.count()) +
                                                 " ms are allowed: set the clock");
  }
  return {};
}

Status verify_request(const SignedRequest& request, const RequestClaims& claims, KeyAlgorithm algorithm,
                      ByteView public_key) {
  const std::string text = request_signature_text(request, claims.device, claims.time, claims.nonce);
  if (!signature_is_valid(algorithm, public_key, as_bytes(text), claims.signature)) {
    return Error(ErrorCode::unauthenticated, "the request's signature does not match its device key");
  }
  return {};
}

std::string enrollment_proof_text(std::string_view token, ByteView public_key) {
  std::string text = "coterie-enroll-1\n";
  text += token;
  text += '\n';
  text += to_hex(public_key);
  return text;
}

}  // namespace coterie
