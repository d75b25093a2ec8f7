// ModelGate: the serving plane's answer to who may ask. The token of the data directory asks the models of every
// tenant; a token that somebody made, or an identity provider's, asks those of its tenant, and needs the role
// `application`. Everybody else asks none.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "fl_server/admin/admin_authenticator.h"
#include "fl_server/runtime/work_pool.h"
#include "fl_server/serving/model_access.h"

namespace coterie {

class ModelGate final : public ModelAccess {
 public:
  // `token`: that of the data directory. `store` outlives this.
  ModelGate(AdminStore& store, const std::string& token, AdminAuthenticator::VerifyForeign verify_foreign);
  ~ModelGate() override { stop(); }

  std::optional<Answer> recall(std::string_view token) override;
  void verify(std::string token, const CallerKey& address, std::function<void(Answer)> done) override;
  // What was asked is answered; who asks after that hears that this server stops.
  void stop() { pool_.stop(); }

 private:
  static Answer answer_for(const Result<AdminCaller>& caller);

  AdminAuthenticator authenticator_;
  WorkPool pool_;
};

}  // namespace coterie
