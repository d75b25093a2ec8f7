// Any text as a bearer token: refused, as nobody here has a private key. Behind the signature, which no
// mutation gets right: any text as claims, and claims under a header, signed by a key of ours. Any text, too, as what a
// token endpoint answers, and as an ID token's claims: without the nonce of a sign-in they are nobody's.
#include "base/assert.h"
#include "fl_server/oidc/code_flow.h"
#include "fl_server/oidc/id_token.h"
#include "secure/crypto/signature.h"

namespace {

using namespace coterie;

const WallTime kNow = wall_time_from_unix_ms(1'700'000'060'000);

OidcSettings settings_of() {
  OidcSettings settings;
  settings.issuer = "https://issuer.example/realms/fl";
  settings.audience = "coterie";
  settings.jwks_url = "https://issuer.example/certs";
  settings.roles_claim = "realm_access.roles";
  settings.role_map = {{"fl-operators", "operator"}};
  settings.tenant_claim = "tid";
  return settings;
}

void check_identity(const Result<OidcIdentity>& identity, const OidcSettings& settings) {
  if (!identity) {
    COT_ASSERT(identity.error().code() == ErrorCode::unauthenticated && !identity.error().reason().empty());
    return;
  }
  COT_ASSERT(identity->issuer == settings.issuer);
  COT_ASSERT(!identity->subject.empty() && identity->subject.size() <= kSubjectBytesMax);
  COT_ASSERT(!identity->tenant.empty() && identity->tenant.size() <= kTenantBytesMax);
  COT_ASSERT(identity->roles.size() <= 1);
  COT_ASSERT(identity->expires + settings.leeway > kNow);
  COT_ASSERT(identity->expires <= kNow + settings.leeway + settings.lifetime_max);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const OidcSettings settings = settings_of();
  static const std::unique_ptr<Signer> signer = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 7)));
  static const JwkSet keys{.keys = {{.kid = "one", .key = Ed25519PublicKey{.bytes = signer->public_key()}}}};
  const ByteView input(data, size);

  const Result<CompactJws> jws = parse_compact_jws(as_text(input));
  if (jws) COT_ASSERT(jws->kid.size() <= kKeyIdBytesMax && jws->signing_input.size() < size);
  // No token of the corpus is signed by the key above, and nothing that a fuzzer changes will be.
  COT_ASSERT(!verify_jwt(as_text(input), keys, settings, kNow));

  check_identity(check_claims(input, settings, kNow), settings);
  COT_ASSERT(!check_id_claims(input, settings, {.client_id = "coterie", .nonce = std::string(64, 'n')}, kNow));
  const Result<std::string> answered = id_token_of(200, as_text(input));
  COT_ASSERT(answered ? answered->size() <= size : answered.error().reason() == sign_in_fault::kProvider);

  // Up to the first newline a header, behind it claims.
  const std::string_view text = as_text(input);
  const size_t newline = text.find('\n');
  if (newline == std::string_view::npos) return 0;
  const std::string signing_input =
      to_base64url(as_bytes(text.substr(0, newline))) + "." + to_base64url(as_bytes(text.substr(newline + 1)));
  const std::string token = signing_input + "." + to_base64url(*signer->sign(as_bytes(signing_input)));
  const Result<OidcIdentity> identity = verify_jwt(token, keys, settings, kNow);
  check_identity(identity, settings);
  if (identity) COT_ASSERT(parse_compact_jws(token)->algorithm == JwsAlgorithm::eddsa);
  return 0;
}
