#include "fl_server/oidc/bearer_verifier.h"

#include <algorithm>

#include "base/assert.h"
#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/oidc/https_get.h"

namespace coterie {
namespace {

constexpr Millis kNapMax{60'000};  // between two looks at the cache's deadline

class HttpsJwksSource : public JwksSource {
 public:
  explicit HttpsJwksSource(const OidcSettings& settings)
      : question_{.url = settings.jwks_url, .ca_file = settings.ca_file, .body_bytes_max = kJwkSetBytesMax} {}

  Result<Answer> fetch(const std::atomic<bool>& cancelled) override {
    COT_ASSIGN(HttpsAnswer answer, https_get(question_, cancelled));
    return Answer{.body = std::move(answer.body), .cache_control = std::move(answer.cache_control)};
  }

 private:
  const HttpsQuestion question_;
};

}  // namespace

std::unique_ptr<JwksSource> make_https_jwks_source(const OidcSettings& settings) {
  return std::make_unique<HttpsJwksSource>(settings);
}

BearerVerifier::BearerVerifier(OidcSettings settings) : BearerVerifier(settings, make_https_jwks_source(settings)) {}

BearerVerifier::BearerVerifier(OidcSettings settings, std::unique_ptr<JwksSource> source)
    : settings_(std::move(settings)), source_(std::move(source)), cache_(os::monotonic_now()) {
  COT_ASSERT(validate(settings_).empty());
  thread_ = std::thread([this] { run(); });
}

BearerVerifier::~BearerVerifier() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  thread_.join();
}

Result<OidcIdentity> BearerVerifier::verify(std::string_view token, WallTime now) {
  return verify_with([&](const JwkSet& keys) { return verify_jwt(token, keys, settings_, now); });
}

Result<OidcIdentity> BearerVerifier::verify_id(std::string_view token, const IdTokenWanted& wanted, WallTime now) {
  return verify_with([&](const JwkSet& keys) { return verify_id_token(token, keys, settings_, wanted, now); });
}

Result<OidcIdentity> BearerVerifier::verify_with(const std::function<Result<OidcIdentity>(const JwkSet&)>& verify) {
  std::shared_ptr<const JwkSet> keys;
  {
    const std::lock_guard lock(mutex_);
    keys = cache_.keys(os::monotonic_now());
  }
  if (keys == nullptr) {
    return Error(ErrorCode::unavailable,
                 "tokens of the issuer cannot be verified now: its keys could not be fetched; the "
                 "server's log says why (oidc_keys_not_fetched)");
  }
  Result<OidcIdentity> identity = verify(*keys);
  if (!identity && identity.error().reason() == token_fault::kKeyUnknown) {
    const std::lock_guard lock(mutex_);
    cache_.key_was_unknown(os::monotonic_now());
    work_.notify_all();
  }
  return identity;
}

BearerVerifier::State BearerVerifier::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void BearerVerifier::wait_for_fetches(uint64_t count) const {
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [&] { return state_.fetches >= count; });
}

void BearerVerifier::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const Instant now = os::monotonic_now();
    if (cache_.begin_fetch(now)) {
      fetch(lock);
    } else {
      work_.wait_for(lock, std::min(cache_.next_deadline() - now, kNapMax));
    }
  }
}

void BearerVerifier::fetch(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  std::optional<Millis> max_age;
  const Result<JwkSet> keys = [&]() -> Result<JwkSet> {
    COT_ASSIGN(const JwksSource::Answer answer, source_->fetch(stopping_));
    max_age = max_age_of(answer.cache_control);
    return parse_jwk_set(answer.body);
  }();
  if (!keys && !stopping_) log(LogLevel::warning, "oidc_keys_not_fetched", {{"error", keys.error().message()}});
  if (keys) {
    log(keys->keys.empty() ? LogLevel::warning : LogLevel::info, "oidc_keys_fetched",
        {{"keys", keys->keys.size()}, {"foreign", keys->skipped_foreign}, {"malformed", keys->skipped_malformed}});
  }
  lock.lock();
  const Instant now = os::monotonic_now();
  ++state_.fetches;
  if (keys) {
    state_.keys = keys->keys.size();
    state_.skipped_foreign = keys->skipped_foreign;
    state_.skipped_malformed = keys->skipped_malformed;
    state_.last_error.clear();
    cache_.fetched(*keys, max_age, now);
  } else {
    ++state_.failures;
    state_.last_error = keys.error().message();
    cache_.failed(now);
  }
  answered_.notify_all();
}

}  // namespace coterie
