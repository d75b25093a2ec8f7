#include "fl_server/oidc/https_get.h"

#include <utility>

namespace coterie {

Result<HttpsAnswer> https_get(const HttpsQuestion& question, const std::atomic<bool>& cancelled) {
  COT_ASSIGN(HttpsAnswer answer, ask_https(question, nullptr, cancelled));
  if (answer.status == 200) return answer;
  return Error(ErrorCode::unavailable, question.url + ": answered " + std::to_string(answer.status) +
                                           ", expected 200 (redirects are not followed)");
}

}  // namespace coterie
