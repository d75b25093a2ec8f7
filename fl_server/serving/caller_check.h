// CallerCheck: whether who shows a bearer token may ask models, and whose: one answer for both doors, REST and gRPC.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "fl_server/serving/model_access.h"

namespace coterie {

// Thread-safe.
class CallerCheck {
 public:
  // `token`: token_digest of the one that may ask all models; none: whoever reaches the port may. `access` decides
  // instead if it is not null, and outlives this.
  CallerCheck(std::optional<Digest> token, ModelAccess* access) : token_(token), access_(access) {}

  // By the value of the header or metadata `authorization`. None: verify() has to look.
  std::optional<ModelAccess::Answer> recall(std::string_view authorization) const;
  // Where recall() had none: ModelAccess::verify.
  void verify(std::string_view authorization, const CallerKey& address,
              std::function<void(ModelAccess::Answer)> done) const;

 private:
  const std::optional<Digest> token_;
  ModelAccess* const access_;
};

}  // namespace coterie
