// Admin: the operator's side of an integration test: JSON over the admin plane, and the steps every test begins with.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "device_sdk/transport/https_client.h"
#include "tests/integration/support/server_process.h"

namespace coterie::integration {

struct AdminAnswer {
  int status = 0;
  std::string content_type;
  Bytes body;
  nlohmann::json json() const { return nlohmann::json::parse(as_text(body), nullptr, false); }
};

class Admin {
 public:
  explicit Admin(const ServerProcess& server);

  Result<AdminAnswer> call(const std::string& method, const std::string& target, ByteView body = {},
                           const std::string& token = {}, const std::string& idempotency_key = {});
  // As call, but fails unless the answer is a success.
  Result<nlohmann::json> ask(const std::string& method, const std::string& target, const nlohmann::json& body = {});

  // A token good for `uses` devices of population "default".
  Result<std::string> create_token(uint32_t uses);
  // Uploads the model and creates the job; `spec` lacks "model". Returns the job's id.
  Result<std::string> create_job(ByteView model, nlohmann::json spec);
  // The float32 payload of a version of the job's model.
  Result<std::vector<float>> download_weights(const std::string& job, uint64_t version);
  // The newest rounds first, as the API tells them.
  Result<nlohmann::json> rounds(const std::string& job);

 private:
  std::string token_;
  std::unique_ptr<HttpsClient> client_;
};

// The smallest model with `value_count` parameters (a multiple of 16): one dense layer, all zero.
Bytes flat_model(uint64_t value_count);

}  // namespace coterie::integration
