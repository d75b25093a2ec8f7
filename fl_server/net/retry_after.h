// When whoever was refused may come again: the one place that makes the number of a Retry-After header. Thread-safe.
//
// A header is one number for one client, so the server draws it from the window at random: clients that only know HTTP
// (proxies, operators' scripts) do not return as one either. Devices draw from the window themselves.
#pragma once

#include "base/error.h"
#include "fl_server/net/http_types.h"
#include "proto/messages/checkin.h"

namespace coterie {

// The least wait in an answer that has no window of its own.
inline constexpr uint32_t kRetryMinMs = 1'000;
inline constexpr uint32_t kRetryMaxMs = 5'000;
RetryWindow default_retry_window();

// Whether an error of this kind may pass, so that its answer says when to ask again.
bool may_pass(ErrorCode code);

// Whole seconds, at least 1, of a moment of the window: the earliest of them for `at` 0, the latest for 1.
uint32_t retry_after_seconds(const RetryWindow& window, double at);

// Adds the header. The window may be empty (0, 0): then the default's.
void say_when(HttpResponse& response, const RetryWindow& window);

}  // namespace coterie
