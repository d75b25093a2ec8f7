// ModelAccess: who may ask which models. Whoever is let in asks the models of a tenant, or of all; what is another
// tenant's does not exist for him.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fl_server/core/token_buckets.h"

namespace coterie {

// Thread-safe.
class ModelAccess {
 public:
  // The tenant whose models may be asked; kEveryTenant: those of all. Errors: unauthenticated; permission_denied (the
  // token is good, and not for this); rate_limited; those of whoever is asked.
  using Answer = Result<std::string>;

  virtual ~ModelAccess() = default;
  // What the bearer of this token may, if that can be said at once. Does not block.
  virtual std::optional<Answer> recall(std::string_view token) = 0;
  // The same by looking into the store; `done` is called once, on another thread. `address`: where it was shown.
  virtual void verify(std::string token, const CallerKey& address, std::function<void(Answer)> done) = 0;
};

}  // namespace coterie
