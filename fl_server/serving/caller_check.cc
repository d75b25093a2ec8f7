#include "fl_server/serving/caller_check.h"

#include <string>
#include <utility>

#include "fl_server/records/tenant.h"
#include "secure/crypto/secret.h"
#include "secure/identity/bearer_token.h"

namespace coterie {

std::optional<ModelAccess::Answer> CallerCheck::recall(std::string_view authorization) const {
  if (access_ == nullptr && !token_) return std::string(kEveryTenant);
  const std::optional<std::string_view> token = bearer_token(authorization);
  if (!token) return bearer_token_needed();
  if (access_ != nullptr) return access_->recall(*token);
  if (!equal_in_constant_time(token_digest(*token).bytes, token_->bytes)) return bearer_token_needed();
  return std::string(kEveryTenant);
}

void CallerCheck::verify(std::string_view authorization, const CallerKey& address,
                         std::function<void(ModelAccess::Answer)> done) const {
  access_->verify(std::string(bearer_token(authorization).value_or(std::string_view())), address, std::move(done));
}

}  // namespace coterie
