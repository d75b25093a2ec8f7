#include "fl_server/app/model_gate.h"

#include <utility>

#include "base/os/clock.h"
#include "secure/identity/bearer_token.h"

namespace coterie {
namespace {

constexpr size_t kThreads = 1;
}  // namespace

ModelGate::ModelGate(AdminStore& store, const std::string& token, AdminAuthenticator::VerifyForeign verify_foreign)
    : authenticator_(store, token_digest(token), std::move(verify_foreign)) {
  pool_.start(kThreads);
}

ModelAccess::Answer ModelGate::answer_for(const Result<AdminCaller>& caller) {
  if (!caller) return caller.error();
  if (caller->id == kDataDirectoryTokenId || caller->roles.contains(Role::application)) return caller->tenant;
  return Error(ErrorCode::permission_denied,
               "asking models is for application; this token has " + caller->roles.text());
}

std::optional<ModelAccess::Answer> ModelGate::recall(std::string_view token) {
  const std::optional<Result<AdminCaller>> known = authenticator_.answer_at_once(token, os::now());
  return known ? std::optional(answer_for(*known)) : std::nullopt;
}

void ModelGate::verify(std::string token, const CallerKey& address, std::function<void(Answer)> done) {
  const bool is_taken = pool_.post([this, token = std::move(token), address, done] {
    done(answer_for(authenticator_.verify(token, os::now(), address)));
  });
  if (!is_taken) done(Error(ErrorCode::unavailable, "this server stops; ask another, or later"));
}

}  // namespace coterie
