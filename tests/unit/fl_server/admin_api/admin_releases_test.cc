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

}  // namespace
}  // namespace coterie
