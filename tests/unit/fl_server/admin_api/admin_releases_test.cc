// Versions of a model: promoted, rolled back, told to whoever asks; and the ledger of what was released with noise.
#include <gmock/gmock.h>

#include "tests/unit/fl_server/admin_api/admin_server.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::Answer;

class AdminReleases : public test::AdminServerTest {
 protected:
  void SetUp() override {
    AdminServerTest::SetUp();
    job_ = "/admin/v1/jobs/" + create_job({{"name", "n"}});
  }
  std::string job_;
};

TEST_F(AdminReleases, ArePromotedAndShown) {
  EXPECT_FALSE(ask("GET", job_).document().contains("released"));
  EXPECT_EQ(ask("GET", job_ + "/models/0").document()["released"], false);
  const std::string seen(ask("GET", job_ + "/models").head.header("etag"));
  const Answer promoted = ask("POST", job_ + "/models/0:promote");
  ASSERT_EQ(promoted.status, 200) << promoted.body;
  EXPECT_EQ(promoted.document()["released"]["version"], 0);
  EXPECT_EQ(ask("GET", job_).document(), promoted.document());
  EXPECT_EQ(ask("GET", job_).head.header("etag"), promoted.head.header("etag"));
  EXPECT_EQ(ask("GET", job_ + "/models/0").document()["released"], true);
  EXPECT_EQ(ask("GET", job_ + "/models").document()["models"][0]["released"], true);
  EXPECT_NE(ask("GET", job_ + "/models").head.header("etag"), seen);
  server_.reset();
  AdminServerTest::SetUp();
  EXPECT_EQ(ask("GET", job_).document()["released"]["version"], 0) << "also after a restart";
}

TEST_F(AdminReleases, AreRefusedWhereTheyCannotBe) {
  EXPECT_EQ(ask("POST", job_ + "/models/1:promote").status, 404);
  EXPECT_EQ(ask("POST", job_ + "/models/x:promote").status, 400);
  EXPECT_EQ(ask("POST", "/admin/v1/jobs/none/models/0:promote").status, 404);
  EXPECT_EQ(ask("POST", "/admin/v1/jobs/none/models:rollback").status, 404);
  EXPECT_EQ(ask("POST", job_ + "/models:rollback").status, 409) << "nothing was promoted";
  const std::string seen(ask("GET", job_).head.header("etag"));
  ASSERT_EQ(ask("POST", job_ + "/models/0:promote").status, 200);
  EXPECT_EQ(ask("POST", job_ + "/models:rollback").status, 409) << "nothing was promoted before";
  headers_ = {{"If-Match", seen}};
  EXPECT_EQ(ask("POST", job_ + "/models/0:promote").status, 412);
  EXPECT_EQ(ask("POST", job_ + "/models:rollback").status, 412);
}

TEST_F(AdminReleases, AreInTheAuditLogByTheirPath) {
  ASSERT_EQ(ask("POST", job_ + "/models/0:promote").status, 200);
  const json records = ask("GET", "/admin/v1/audit?action=model.promote").document()["records"];
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1]["target"], job_ + "/models/0:promote");
  EXPECT_EQ(records[1]["outcome"], 200);
}

TEST_F(AdminReleases, WithNoiseAreInALedgerThatOnlyAPrivacyOfficerReads) {
  const json empty = ask("GET", "/admin/v1/ledger").document();
  EXPECT_EQ(empty["records"], json::array());
  EXPECT_EQ(empty["head"]["seq"], 0);
  EXPECT_EQ(ask("GET", "/admin/v1/ledger?limit=0&x=1").document()["errors"].size(), 2u);
  const json made = ask("POST", "/admin/v1/tokens",
                        R"({"label": "v", "roles": ["viewer", "operator", "ml_engineer", "security_admin"]})")
                        .document();
  EXPECT_EQ(ask_as("Bearer " + made["token"].get<std::string>(), "GET", "/admin/v1/ledger").status, 403);
}

TEST_F(AdminReleases, WithNoiseDrawOnBudgetsThatAPrivacyOfficerSets) {
  constexpr const char* kBudgets = "/admin/v1/privacy-budgets";
  EXPECT_EQ(ask("GET", kBudgets).document()["privacy_budgets"], json::array());
  const Answer set = ask("POST", kBudgets, R"({"population": "phones", "epsilon": 2, "delta": 1e-6})");
  ASSERT_EQ(set.status, 200) << set.body;
  EXPECT_EQ(set.document(), (json{{"population", "phones"},
                                  {"epsilon", 0.0},
                                  {"delta", 1e-6},
                                  {"accountant", "none"},
                                  {"epsilon_budget", 2.0},
                                  {"releases", 0},
                                  {"releases_open", 0},
                                  {"jobs", 0}}));
  EXPECT_EQ(ask("GET", std::string(kBudgets) + "?population=phones").document()["privacy_budgets"][0], set.document());
  EXPECT_EQ(ask("GET", std::string(kBudgets) + "?after=phones").document()["privacy_budgets"], json::array());
  for (const char* body :
       {R"({"population": "phones"})", R"({"population": "phones", "epsilon": 1})",
        R"({"population": "phones", "epsilon": 0, "delta": 1e-6})", R"({"epsilon": 1, "delta": 1e-6})",
        R"({"population": "phones", "unlimited": true, "epsilon": 1})",
        R"({"population": "phones", "epsilon": 1, "delta": 0.9})"}) {
    EXPECT_EQ(ask("POST", kBudgets, body).status, 400) << body;
  }
  const json records = ask("GET", "/admin/v1/audit?action=privacy_budget.set").document()["records"];
  EXPECT_GE(records.size(), 2u);
  const json made =
      ask("POST", "/admin/v1/tokens", R"({"label": "e", "roles": ["ml_engineer", "operator", "viewer"]})").document();
  const std::string bearer = "Bearer " + made["token"].get<std::string>();
  EXPECT_EQ(ask_as(bearer, "GET", kBudgets).status, 200);
  EXPECT_EQ(ask_as(bearer, "POST", kBudgets, R"({"population": "phones", "unlimited": true})").status, 403);
  EXPECT_EQ(ask("POST", kBudgets, R"({"population": "phones", "unlimited": true})").document()["epsilon_budget"],
            json());
  EXPECT_EQ(ask("GET", kBudgets).document()["privacy_budgets"], json::array());
}

TEST_F(AdminReleases, WithoutNoiseAreRefusedWhereAPopulationHasABudget) {
  ASSERT_EQ(ask("POST", "/admin/v1/privacy-budgets", R"({"population": "phones", "epsilon": 2, "delta": 1e-6})").status,
            200);
  const std::string model = ask("GET", job_).document()["spec"]["model"];
  const json plain = {{"name", "plain"}, {"population", "phones"}, {"model", model}};
  const Answer refused = ask("POST", "/admin/v1/jobs", plain.dump());
  ASSERT_EQ(refused.status, 400) << refused.body;
  EXPECT_EQ(refused.document()["errors"][0]["pointer"], "/population");
  EXPECT_THAT(refused.document()["errors"][0]["detail"].get<std::string>(), testing::HasSubstr("population phones"));
}

}  // namespace
}  // namespace coterie
