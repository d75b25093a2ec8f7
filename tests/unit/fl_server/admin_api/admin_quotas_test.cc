// Quotas of tenants over the admin plane: one tenant that fills its own leaves the others theirs, is told what to do,
// and has room again when it has done so.
#include <gtest/gtest.h>

#include "tests/unit/fl_server/admin_api/admin_server.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::Answer;

class AdminQuotas : public test::AdminServerTest {
 protected:
  void configure(ServerConfig& config) override {
    config.quotas = {.blob_bytes_max = 100'000,
                     .uploads_max = 2,
                     .jobs_max = 1,
                     .admin_tokens_max = 2,
                     .enrollment_tokens_max = 1,
                     .idempotency_keys_max = 1};
  }
  std::string bearer_of(const std::string& tenant) {
    const Answer made =
        ask("POST", "/admin/v1/tokens",
            json{{"label", "x"}, {"tenant", tenant}, {"roles", {"viewer", "operator", "ml_engineer", "security_admin"}}}
                .dump());
    EXPECT_EQ(made.status, 201) << made.body;
    return "Bearer " + made.document().value("token", "");
  }
  Answer send_model(const std::string& bearer, uint32_t outputs) {
    ModelBuilder build("small", {2}, 1);
    return ask_as(bearer, "POST", "/admin/v1/models",
                  as_text(build.finish(build.dense(build.input(), outputs)).value()));
  }
  Answer send_job(const std::string& bearer, const std::string& population, const std::string& digest) {
    return ask_as(bearer, "POST", "/admin/v1/jobs",
                  json{{"name", "n"}, {"model", digest}, {"population", population}}.dump());
  }
  static void expect_refused(const Answer& answer, int status, const std::string& quota) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(answer.document().value("reason", ""), "quota_" + quota) << answer.body;
    EXPECT_NE(answer.document().value("detail", "").find("quota " + quota + " of tenant acme: it may have "),
              std::string::npos)
        << answer.body;
  }
  json quotas(const std::string& bearer) { return ask_as(bearer, "GET", "/admin/v1/server").document()["quotas"]; }
};

TEST_F(AdminQuotas, OfEachThingAreRefusedAndShown) {
  const std::string acme = bearer_of("acme"), other = bearer_of("other");
  const std::string model = send_model(acme, 3).document().value("digest", "");
  EXPECT_EQ(send_model(acme, 3).status, 201) << "the same again";
  EXPECT_EQ(send_model(acme, 4).status, 201);
  expect_refused(send_model(acme, 5), 409, "uploads");
  idempotency_key_ = "one";
  EXPECT_EQ(send_job(acme, "cars", model).status, 201);
  idempotency_key_ = "two";
  expect_refused(send_job(acme, "cars", model), 429, "idempotency_keys");
  idempotency_key_.clear();
  expect_refused(send_job(acme, "cars", model), 409, "jobs");
  const std::string token = R"({"population": "cars"})";
  EXPECT_EQ(ask_as(acme, "POST", "/admin/v1/enrollment-tokens", token).status, 201);
  expect_refused(ask_as(acme, "POST", "/admin/v1/enrollment-tokens", token), 409, "enrollment_tokens");
  const std::string viewer = R"({"label": "y", "roles": ["viewer"]})";
  EXPECT_EQ(ask_as(acme, "POST", "/admin/v1/tokens", viewer).status, 201);
  expect_refused(ask_as(acme, "POST", "/admin/v1/tokens", viewer), 409, "admin_tokens");

  EXPECT_EQ(send_model(other, 5).status, 201) << "another tenant has its own";
  const std::string admin = "Bearer " + token_;
  const json all = quotas(admin), own = quotas(acme);
  EXPECT_EQ(all["acme"], own["acme"]);
  EXPECT_EQ(own.size(), 1u) << own;
  EXPECT_EQ(own["acme"]["jobs"], (json{{"used", 1}, {"max", 1}})) << own;
  EXPECT_EQ(own["acme"]["uploads"]["used"], 2);
  EXPECT_EQ(own["acme"]["enrollment_tokens"]["used"], 1);
  EXPECT_EQ(own["acme"]["admin_tokens"]["used"], 2);
  EXPECT_EQ(own["acme"]["idempotency_keys"]["used"], 1);
  EXPECT_EQ(own["acme"]["event_streams"], (json{{"used", 0}, {"max", 256}}));
  EXPECT_GT(own["acme"]["blob_bytes"]["used"], 100);
  EXPECT_EQ(all["other"]["uploads"]["used"], 1);
}

TEST_F(AdminQuotas, BytesAreRefusedBeforeAnythingIsWritten) {
  const std::string acme = bearer_of("acme");
  ASSERT_EQ(send_model(acme, 3).status, 201);
  expect_refused(send_model(acme, 20'000), 409, "blob_bytes");
  EXPECT_EQ(quotas(acme)["acme"]["uploads"]["used"], 1);
  EXPECT_EQ(send_model(acme, 4).status, 201) << "there is room for what is small";
}

TEST_F(AdminQuotas, ADeletedJobMakesRoom) {
  const std::string acme = bearer_of("acme");
  const std::string model = send_model(acme, 3).document().value("digest", "");
  const std::string job = send_job(acme, "cars", model).document().value("id", "");
  expect_refused(send_job(acme, "cars", model), 409, "jobs");
  ASSERT_EQ(ask_as(acme, "POST", "/admin/v1/jobs/" + job + ":cancel").status, 200);
  for (int i = 0; i < 1'000 && ask_as(acme, "DELETE", "/admin/v1/jobs/" + job).status == 409; ++i) continue;
  EXPECT_EQ(send_job(acme, "cars", model).status, 201);
}

}  // namespace
}  // namespace coterie
