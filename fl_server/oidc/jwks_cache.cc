#include "fl_server/oidc/jwks_cache.h"

#include <algorithm>
#include <charconv>

#include "base/assert.h"

namespace coterie {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool equal_but_for_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

// Digits alone; more than fit are as good as the most we believe.
std::optional<Millis> seconds_of(std::string_view digits) {
  uint64_t seconds = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  if (digits.empty() || end != digits.data() + digits.size()) return std::nullopt;
  const uint64_t most = static_cast<uint64_t>(kJwksRefreshMax.count()) / 1000;
  const uint64_t believed = error == std::errc::result_out_of_range ? most : std::min(seconds, most);
  return Millis(static_cast<int64_t>(believed) * 1000);
}

}  // namespace

bool JwksCache::begin_fetch(Instant now) {
  if (fetching_ || now < next_fetch_) return false;
  fetching_ = true;
  last_begun_ = now;
  return true;
}

void JwksCache::fetched(JwkSet keys, std::optional<Millis> max_age, Instant now) {
  COT_ASSERT(fetching_);
  fetching_ = false;
  failures_ = 0;
  keys_ = std::make_shared<const JwkSet>(std::move(keys));
  fetched_at_ = now;
  next_fetch_ = now + std::clamp(max_age.value_or(kJwksRefreshDefault), kJwksRefreshMin, kJwksRefreshMax);
}

void JwksCache::failed(Instant now) {
  COT_ASSERT(fetching_);
  fetching_ = false;
  constexpr uint32_t kDoublingsMax = 6;  // 5 s * 2^6 is over kJwksRetryMax
  const Millis wait = kJwksRetryMin * (1 << std::min(failures_, kDoublingsMax));
  failures_ = std::min(failures_ + 1, kDoublingsMax);
  next_fetch_ = now + std::min(wait, kJwksRetryMax);
}

void JwksCache::key_was_unknown(Instant now) {
  if (fetching_) return;  // the answer may have it
  const Instant earliest = last_begun_ ? *last_begun_ + kJwksUnknownKeyInterval : now;
  next_fetch_ = std::min(next_fetch_, std::max(now, earliest));
}

std::shared_ptr<const JwkSet> JwksCache::keys(Instant now) const {
  return keys_ != nullptr && now < fetched_at_ + kJwksServedMax ? keys_ : nullptr;
}

std::optional<Millis> max_age_of(std::string_view cache_control) {
  std::optional<Millis> age;
  while (!cache_control.empty()) {
    const size_t comma = cache_control.find(',');
    const std::string_view directive = trimmed(cache_control.substr(0, comma));
    cache_control.remove_prefix(comma == std::string_view::npos ? cache_control.size() : comma + 1);
    if (equal_but_for_case(directive, "no-store") || equal_but_for_case(directive, "no-cache")) return Millis(0);
    const size_t equals = directive.find('=');
    if (equals == std::string_view::npos || !equal_but_for_case(directive.substr(0, equals), "max-age")) continue;
    const auto said = seconds_of(directive.substr(equals + 1));
    if (said && (!age || *said < *age)) age = said;
  }
  return age;
}

}  // namespace coterie
