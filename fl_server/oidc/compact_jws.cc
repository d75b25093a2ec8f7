#include "fl_server/oidc/compact_jws.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fl_server/oidc/strict_json.h"

namespace coterie {
namespace {

Error refuse(std::string_view reason, std::string message) {
  return Error(ErrorCode::unauthenticated, "bearer token: " + std::move(message), reason);
}

bool equal_but_for_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

Status read_header(ByteView bytes, CompactJws& jws) {
  const auto header = parse_strict_object(as_text(bytes));
  if (!header) return refuse(token_fault::kMalformed, "its header is not a JSON object with each key once");
  const std::string* name = string_under(*header, "alg");
  const auto algorithm = name == nullptr ? std::nullopt : jws_algorithm_from_name(*name);
  if (!algorithm) {
    return refuse(token_fault::kAlgorithm,
                  "it must be signed with RS256, ES256 or EdDSA; set this in the issuer's client");
  }
  if (header->contains("crit")) {
    return refuse(token_fault::kCritical, "its header has `crit`: extensions that are not understood here");
  }
  if (header->contains("typ")) {  // media types know no case (RFC 7515 section 4.1.9)
    const std::string* type = string_under(*header, "typ");
    if (type == nullptr || !(equal_but_for_case(*type, "jwt") || equal_but_for_case(*type, "at+jwt"))) {
      return refuse(token_fault::kType, "its `typ` must be \"JWT\", \"at+jwt\" or absent");
    }
  }
  if (header->contains("kid")) {
    const std::string* kid = string_under(*header, "kid");
    if (kid == nullptr || kid->empty() || kid->size() > kKeyIdBytesMax) {
      return refuse(token_fault::kMalformed,
                    "its `kid` must be a string of 1 to " + std::to_string(kKeyIdBytesMax) + " bytes");
    }
    jws.kid = *kid;
  }
  jws.algorithm = *algorithm;
  return {};
}

Result<const VerificationKey*> choose_key(const CompactJws& jws, const JwkSet& set) {
  const VerificationKey* chosen = nullptr;
  bool kid_is_known = false;
  for (const VerificationKey& key : set.keys) {
    if (!jws.kid.empty() && key.kid != jws.kid) continue;
    kid_is_known = true;
    if (key.algorithm() != jws.algorithm) continue;
    if (chosen != nullptr) {
      return refuse(token_fault::kKeyMissing,
                    "it has no `kid`, and its issuer has several keys that may have signed it");
    }
    chosen = &key;
  }
  if (chosen != nullptr) return chosen;
  if (kid_is_known) return refuse(token_fault::kKeyMismatch, "the issuer's key is of another kind than its `alg`");
  return refuse(token_fault::kKeyUnknown, "its issuer has no key with this `kid`");
}

}  // namespace

Result<CompactJws> parse_compact_jws(std::string_view token) {
  if (token.size() > kTokenBytesMax) {
    return refuse(token_fault::kTooLarge, "it has " + std::to_string(token.size()) + " bytes, at most " +
                                              std::to_string(kTokenBytesMax) + " are read");
  }
  const size_t first = token.find('.');
  const size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) {
    return refuse(token_fault::kMalformed, "a signed token has exactly three parts with dots between them");
  }
  const Result<Bytes> header = from_base64url(token.substr(0, first));
  Result<Bytes> payload = from_base64url(token.substr(first + 1, second - first - 1));
  Result<Bytes> signature = from_base64url(token.substr(second + 1));
  if (!header || !payload || !signature) {
    return refuse(token_fault::kMalformed, "its parts must be canonical base64url without padding");
  }
  if (header->size() > kTokenHeaderBytesMax) {
    return refuse(token_fault::kTooLarge, "its header has " + std::to_string(header->size()) + " bytes, at most " +
                                              std::to_string(kTokenHeaderBytesMax) + " are read");
  }
  CompactJws jws{.algorithm = JwsAlgorithm::rs256,
                 .kid = {},
                 .signing_input = token.substr(0, second),
                 .payload = std::move(*payload),
                 .signature = std::move(*signature)};
  COT_TRY(read_header(*header, jws));
  return jws;
}

Result<Bytes> verify_jws(std::string_view token, const JwkSet& keys) {
  COT_ASSIGN(CompactJws jws, parse_compact_jws(token));
  COT_ASSIGN(const VerificationKey* key, choose_key(jws, keys));
  if (!key->verifies(as_bytes(jws.signing_input), jws.signature)) {
    return refuse(token_fault::kSignature, "its signature is not valid");
  }
  return std::move(jws.payload);
}

}  // namespace coterie
