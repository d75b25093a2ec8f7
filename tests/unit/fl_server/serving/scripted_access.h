// Who may ask models, as a test says: `acme` is known at once, every other tenant has to be looked up.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "fl_server/records/tenant.h"
#include "fl_server/serving/model_access.h"

namespace coterie::test {

struct ScriptedAccess final : ModelAccess {
  std::optional<Answer> recall(std::string_view token) override {
    if (token == "of-acme") return "acme";
    if (token == "wrong") return Error(ErrorCode::unauthenticated, "a valid bearer token is needed");
    return std::nullopt;
  }
  void verify(std::string token, const CallerKey& address, std::function<void(Answer)> done) override {
    asked_from = address;
    if (token == "of-a-viewer") return done(Error(ErrorCode::permission_denied, "asking models is for application"));
    done(token == "of-all" ? std::string(kEveryTenant) : std::string("other"));
  }

  CallerKey asked_from{};  // of the last that had to be looked up
};

}  // namespace coterie::test
