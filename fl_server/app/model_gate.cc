#include "fl_server/app/model_gate.h"

#include <algorithm>
#include <utility>

#include "base/os/clock.h"
#include "secure/identity/bearer_token.h"

namespace coterie {
namespace {

constexpr size_t kThreads = 1;
constexpr ptrdiff_t kDotsOfJwt = 2;

Error stranger() {
  return Error(ErrorCode::unauthenticated, "a valid bearer token is needed: Authorization: Bearer <token>");
}

}  // namespace

ModelGate::ModelGate(AdminStore& store, const std::string& token, VerifyForeign verify_foreign)
    : authenticator_(store, token_digest(token)), verify_foreign_(std::move(verify_foreign)) {
  pool_.start(kThreads);
}

ModelAccess::Answer ModelGate::answer_for(const AdminCaller& caller) {
  if (caller.id == kDataDirectoryTokenId || caller.roles.contains(Role::application)) return caller.tenant;
  return Error(ErrorCode::permission_denied, "asking models is for application; this token has " + caller.roles.text());
}

std::optional<ModelAccess::Answer> ModelGate::recall(std::string_view token) {
  if (const std::optional<AdminCaller> known = authenticator_.recall(token, os::now())) return answer_for(*known);
  if (admin_token_id(token)) return std::nullopt;
  if (!verify_foreign_ || std::ranges::count(token, '.') != kDotsOfJwt) return Answer(stranger());
  const Result<AdminCaller> caller = verify_foreign_(token, os::wall_now());
  return caller ? answer_for(*caller) : Answer(caller.error());
}

void ModelGate::verify(std::string token, const CallerKey& address, std::function<void(Answer)> done) {
  pool_.post([this, token = std::move(token), address, done = std::move(done)] {
    const Result<AdminCaller> caller = authenticator_.verify(token, os::now(), address);
    done(caller ? answer_for(*caller) : Answer(caller.error()));
  });
}

}  // namespace coterie
