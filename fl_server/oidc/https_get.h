// What lies at an address: how an issuer's keys are fetched.
#pragma once

#include <atomic>

#include "base/result.h"
#include "fl_server/oidc/https_question.h"

namespace coterie {

// As ask_https, and unavailable: a status other than 200.
Result<HttpsAnswer> https_get(const HttpsQuestion& question, const std::atomic<bool>& cancelled);

}  // namespace coterie
