// A request that is sent twice is carried out once.
#include <gtest/gtest.h>

#include "device_sdk/runtime/model_builder.h"
#include "fl_server/store/sql/sqlite.h"
#include "tests/unit/fl_server/admin_api/admin_server.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::Answer;

class AdminIdempotency : public test::AdminServerTest {
 protected:
  void SetUp() override {
    AdminServerTest::SetUp();
    ModelBuilder build("small", {2}, 1);
    const Bytes model = build.finish(build.dense(build.input(), 3)).value();
    job_ = json{{"name", "j"}, {"model", ask("POST", "/admin/v1/models", as_text(model)).document()["digest"]}}.dump();
  }
  Answer create(const std::string& key, const std::string& body) {
    idempotency_key_ = key;
    const Answer answer = ask("POST", "/admin/v1/jobs", body);
    idempotency_key_.clear();
    return answer;
  }
  size_t jobs() { return ask("GET", "/admin/v1/jobs").document()["jobs"].size(); }

  std::string job_;
};

TEST_F(AdminIdempotency, GivesTheFirstAnswerAgainAlsoAfterARestart) {
  const Answer first = create("k1", job_);
  ASSERT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(first.head.header("idempotent-replayed"), "");
  server_.reset();
  test::AdminServerTest::SetUp();
  const Answer second = create("k1", job_);
  EXPECT_EQ(second.status, 201);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(second.head.header("location"), first.head.header("location"));
  EXPECT_EQ(second.head.header("content-type"), "application/json");
  EXPECT_EQ(second.head.header("idempotent-replayed"), "true");
  EXPECT_EQ(jobs(), 1u);
  EXPECT_EQ(create("k2", job_).status, 201);
  EXPECT_EQ(create("", job_).status, 201);
  EXPECT_EQ(jobs(), 3u);
}

TEST_F(AdminIdempotency, RefusesAKeyOfAnotherRequestAndOneThatIsNone) {
  ASSERT_EQ(create("k1", job_).status, 201);
  const Answer other = create("k1", job_ + " ");
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(other.document()["status"], 422);
  EXPECT_EQ(create(std::string(129, 'k'), job_).status, 400);
  EXPECT_EQ(jobs(), 1u);
}

TEST_F(AdminIdempotency, KeepsTheKeysOfTokensApart) {
  ASSERT_EQ(create("k1", job_).status, 201);
  const json made = ask("POST", "/admin/v1/tokens", R"({"label": "e", "roles": ["ml_engineer"]})").document();
  idempotency_key_ = "k1";
  EXPECT_EQ(ask_as("Bearer " + made["token"].get<std::string>(), "POST", "/admin/v1/jobs", job_).status, 201);
  idempotency_key_.clear();
  EXPECT_EQ(jobs(), 2u);
}

TEST_F(AdminIdempotency, LetsWhatFailedBeTriedAgain) {
  EXPECT_EQ(create("k1", "{").status, 400);
  EXPECT_EQ(create("k1", job_).status, 201);
}

// The server died between claim and answer: nobody knows whether there is a job, so there is never a second
// one unseen.
TEST_F(AdminIdempotency, DoesNotRepeatWhatMayHaveBeenDone) {
  ASSERT_EQ(create("k1", job_).status, 201);
  Result<Database> database = open_sqlite(directory_ / "data/coterie.sqlite3");
  ASSERT_OK(database);
  ASSERT_OK(database->execute("UPDATE idempotency SET status = 0"));
  const Answer again = create("k1", job_);
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.document()["code"], "conflict");
  EXPECT_EQ(jobs(), 1u);
}

TEST_F(AdminIdempotency, DoesNotKeepTheSecretsOfTokens) {
  idempotency_key_ = "k1";
  const json first = ask("POST", "/admin/v1/enrollment-tokens", "{}").document();
  const json second = ask("POST", "/admin/v1/enrollment-tokens", "{}").document();
  EXPECT_NE(first["token"], second["token"]) << "the key says nothing there";
}

}  // namespace
}  // namespace coterie
