#include "fl_server/net/retry_after.h"

#include <algorithm>

#include "base/random.h"
#include "secure/crypto/random.h"

namespace coterie {

RetryWindow default_retry_window() { return {kRetryMinMs, kRetryMaxMs, ""}; }

bool may_pass(ErrorCode code) {
  const RetryClass retry = traits(code).retry;
  return retry == RetryClass::window || retry == RetryClass::backoff;
}

uint32_t retry_after_seconds(const RetryWindow& window, double at) {
  const double ms = window.min_ms + at * (static_cast<double>(window.max_ms) - window.min_ms);
  return std::max(1u, static_cast<uint32_t>((ms + 999) / 1000));
}

void say_when(HttpResponse& response, const RetryWindow& window) {
  thread_local Prng prng(random_u64());
  const bool is_empty = window.max_ms == 0;
  const uint32_t seconds = retry_after_seconds(is_empty ? default_retry_window() : window, prng.uniform());
  response.headers.emplace_back("Retry-After", std::to_string(seconds));
}

}  // namespace coterie
