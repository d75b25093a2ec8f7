#include "fl_server/app/provider_sign_in.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "base/os/file.h"
#include "fl_server/app/admin_caller.h"
#include "fl_server/oidc/code_exchange.h"
#include "fl_server/oidc/code_flow.h"
#include "secure/crypto/random.h"

namespace coterie {
namespace {

constexpr size_t kSecretBytesMax = 16 << 10;
constexpr size_t kRandomBytes = 32;
// How often one address may ask the provider something; many people may be behind it.
constexpr TokenBucketSettings kExchangesOfAddress{.per_second = 1, .burst = 16, .callers_max = 10'000};

static_assert(kSignInMax == ProviderSignIn::kLifeMax);

// Its first line: a secret with a line break is none.
Result<std::string> read_secret(const std::string& path) {
  if (path.empty()) return std::string();
  const Result<Bytes> file = os::read_file(path, kSecretBytesMax);
  if (!file) return file.error().with_context("admin/oidc/sign_in/client_secret_file");
  const std::string text(file->begin(), file->end());
  std::string secret = text.substr(0, text.find_first_of("\r\n"));
  if (secret.empty()) {
    return Error(ErrorCode::invalid_argument,
                 path + ": admin/oidc/sign_in/client_secret_file has no secret in its first line");
  }
  return secret;
}

Error with_reason(const Error& error, std::string_view reason) { return Error(error.code(), error.message(), reason); }

class OidcSignIn final : public CancellableSignIn {
 public:
  OidcSignIn(const OidcSettings& settings, std::string secret, const MacKey& key, BearerVerifier& verifier)
      : settings_(*settings.sign_in),
        issuer_(settings.issuer),
        has_tenant_(!settings.tenant_claim.empty()),
        key_(key),
        verifier_(verifier),
        exchange_(settings_, settings.ca_file, std::move(secret)),
        of_address_(kExchangesOfAddress, random_u64()) {}

  const std::string& name() const override { return settings_.name; }

  Begun begin(WallTime now) override {
    const std::string cookie = new_sign_in(now, random_bytes(kRandomBytes));
    return {.cookie = cookie, .redirect = authorization_request(settings_, secrets_of(key_, cookie))};
  }

  std::string end_session_url() const override { return end_session_request(settings_); }

  // First what costs nothing: whoever has not begun here gets no further.
  Result<AdminCaller> finish(const Back& back, Now now) override {
    COT_TRY(check_sign_in(key_, back.cookie, back.state, now.wall));
    if (!back.issuer.empty() && back.issuer != issuer_) {  // RFC 9207: another provider's answer
      return Error(ErrorCode::unauthenticated, "sign-in: the browser came back from another issuer",
                   sign_in_fault::kProvider);
    }
    if (!back.error.empty()) return error_of_provider(back.error);
    if (back.code.empty() || back.code.size() > kCodeBytesMax) {
      return Error(ErrorCode::unauthenticated, "sign-in: the provider gave no code, or one over 1600 bytes",
                   sign_in_fault::kProvider);
    }
    COT_TRY(admit(back.address, now.instant));
    const SignInSecrets secrets = secrets_of(key_, back.cookie);
    COT_ASSIGN(const std::string token, exchange_.id_token(back.code, secrets.verifier));
    const Result<OidcIdentity> identity =
        verifier_.verify_id(token, {.client_id = settings_.client_id, .nonce = secrets.nonce}, now.wall);
    if (!identity) {
      const bool is_away = identity.error().code() == ErrorCode::unavailable;
      return with_reason(identity.error().with_context(std::string(identity.error().reason())),
                         is_away ? sign_in_fault::kAway : sign_in_fault::kToken);
    }
    const Result<AdminCaller> caller = caller_of(*identity, has_tenant_);
    if (!caller) return with_reason(caller.error(), sign_in_fault::kNoRole);
    return *caller;
  }

  void cancel() override { exchange_.cancel(); }

 private:
  Status admit(const CallerKey& address, Instant now) {
    const std::lock_guard lock(mutex_);
    if (!of_address_.take(address, now)) return {};
    return Error(ErrorCode::rate_limited, "sign-in: too many came back to this address; try again in a second",
                 sign_in_fault::kBusy);
  }

  const CodeFlowSettings settings_;
  const std::string issuer_;
  const bool has_tenant_;
  const MacKey& key_;
  BearerVerifier& verifier_;
  CodeExchange exchange_;
  std::mutex mutex_;
  TokenBuckets of_address_;
};

}  // namespace

Result<std::unique_ptr<CancellableSignIn>> make_provider_sign_in(const OidcSettings& settings, const MacKey& key,
                                                                 BearerVerifier& verifier) {
  if (!settings.sign_in) return std::unique_ptr<CancellableSignIn>();
  COT_ASSIGN(std::string secret, read_secret(settings.sign_in->client_secret_file));
  return std::unique_ptr<CancellableSignIn>(std::make_unique<OidcSignIn>(settings, std::move(secret), key, verifier));
}

}  // namespace coterie
