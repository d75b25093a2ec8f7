// What a person removes over the admin plane, and what stays whatever is asked.
#include <gmock/gmock.h>

#include "tests/unit/fl_server/admin_api/admin_server.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::Answer;

class AdminDeletion : public test::AdminServerTest {
 protected:
  void SetUp() override {
    AdminServerTest::SetUp();
    job_ = "/admin/v1/jobs/" + create_job({{"name", "n"}});
  }
  std::string job_;
};

TEST_F(AdminDeletion, OfAJobIsForOneThatHasEnded) {
  EXPECT_EQ(ask("DELETE", job_).status, 409) << "it runs";
  ASSERT_EQ(ask("POST", job_ + ":pause").status, 200);
  EXPECT_EQ(ask("DELETE", job_).status, 409) << "it is paused";
  ASSERT_EQ(ask("POST", job_ + ":cancel").status, 200);
  Answer deleted = ask("DELETE", job_);
  for (int i = 0; deleted.status == 409 && i < 1'000; ++i) deleted = ask("DELETE", job_);  // its machine ends
  EXPECT_EQ(deleted.status, 204) << deleted.body;
  EXPECT_EQ(ask("GET", job_).status, 404);
  EXPECT_EQ(ask("DELETE", job_).status, 404);
  EXPECT_EQ(ask("GET", "/admin/v1/jobs").document()["jobs"], json::array());
  EXPECT_EQ(ask("GET", job_ + "/models/0").status, 404);
  server_.reset();
  AdminServerTest::SetUp();
  EXPECT_EQ(ask("GET", job_).status, 404) << "also after a restart";
}

TEST_F(AdminDeletion, OfAJobThatHasChangedIsRefused) {
  const std::string seen(ask("GET", job_).head.header("etag"));
  ASSERT_EQ(ask("POST", job_ + ":cancel").status, 200);
  headers_ = {{"If-Match", seen}};
  EXPECT_NE(ask("DELETE", job_).status, 204);
  headers_ = {};
  EXPECT_EQ(ask("GET", job_).status, 200);
}

TEST_F(AdminDeletion, IsInTheAuditLogAndDoneOnceForAKey) {
  const std::string other = "/admin/v1/jobs/" + create_job({{"name", "o"}});
  for (const std::string& job : {job_, other}) ASSERT_EQ(ask("POST", job + ":cancel").status, 200);
  headers_ = {{"Idempotency-Key", "k"}};
  Answer deleted = ask("DELETE", job_);
  for (int i = 0; deleted.status == 409 && i < 1'000; ++i) deleted = ask("DELETE", job_);
  ASSERT_EQ(deleted.status, 204);
  const Answer again = ask("DELETE", job_);
  EXPECT_EQ(again.status, 204) << "the answer of the first";
  EXPECT_EQ(again.head.header("idempotent-replayed"), "true");
  EXPECT_EQ(ask("DELETE", other).status, 422) << "the key was of another job";
  headers_ = {};
  EXPECT_EQ(ask("GET", other).status, 200);
  const json records = ask("GET", "/admin/v1/audit?action=job.delete").document()["records"];
  ASSERT_GE(records.size(), 2u);
  EXPECT_EQ(records[0]["target"], job_);
}

TEST_F(AdminDeletion, OfAVersionThatIsNeededIsRefused) {
  EXPECT_EQ(ask("DELETE", job_ + "/models/0").status, 409);
  EXPECT_EQ(ask("DELETE", job_ + "/models/7").status, 404);
  EXPECT_EQ(ask("DELETE", job_ + "/models/x").status, 400);
  EXPECT_EQ(ask("GET", job_ + "/models/0").status, 200);
}

TEST_F(AdminDeletion, OfAnUploadThatAJobIsMadeOfIsRefused) {
  const std::string digest = ask("GET", job_).document()["spec"]["model"];
  EXPECT_EQ(ask("DELETE", "/admin/v1/models/" + digest).status, 409);
  EXPECT_EQ(ask("DELETE", "/admin/v1/models/" + std::string(64, '0')).status, 404);
  EXPECT_EQ(ask("DELETE", "/admin/v1/datasets/none").status, 404);
  EXPECT_EQ(ask("GET", job_ + "/models/0/content").status, 200);
}

TEST_F(AdminDeletion, WhatIsKeptIsCountedByKind) {
  const json store = ask("GET", "/admin/v1/server").document()["store"];
  EXPECT_EQ(store["jobs"]["rows"], 1);
  EXPECT_EQ(store["models"]["rows"], 1);
  EXPECT_EQ(store["models"]["bytes"], ask("GET", job_ + "/models/0").document()["bytes"]);
  EXPECT_GT(store["audit"]["rows"], 0);
  EXPECT_GT(store["database"]["bytes"], 4'096);
  EXPECT_THAT(ask("GET", "/metrics").body, testing::HasSubstr("coterie_store_rows{kind=\"models\"} 1\n"));
}

TEST_F(AdminDeletion, IsForAnMlEngineer) {
  const json made = ask("POST", "/admin/v1/tokens",
                        R"({"label": "o", "roles": ["viewer", "operator", "privacy_officer", "security_admin"]})")
                        .document();
  const std::string token = "Bearer " + made["token"].get<std::string>();
  for (const std::string& target : {job_, job_ + "/models/0", "/admin/v1/models/" + std::string(64, '0')})
    EXPECT_EQ(ask_as(token, "DELETE", target).status, 403) << target;
}

}  // namespace
}  // namespace coterie
