// Canaries on the admin plane: begun, observed, ended; told, audited, and refused where they cannot be.
#include <gmock/gmock.h>

#include "tests/unit/fl_server/admin_api/admin_server.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::Answer;

json observation(const std::string& source, uint32_t both, uint32_t only_new, uint32_t only_old, uint32_t neither) {
  return {{"source", source}, {"both", both}, {"only_new", only_new}, {"only_old", only_old}, {"neither", neither}};
}

class AdminCanaries : public test::AdminServerTest {
 protected:
  void SetUp() override {
    AdminServerTest::SetUp();
    base_ = create_job({{"name", "before"}});
    job_ = create_job({{"name", "after"}});
    ASSERT_EQ(ask("POST", "/admin/v1/jobs/" + base_ + "/models/0:promote").status, 200);
  }
  std::string path() const { return "/admin/v1/jobs/" + job_; }
  Answer open(const json& body = {{"percent", 5}}) { return ask("POST", path() + "/models/0:canary", body.dump()); }
  Answer observe(const std::string& canary, const std::vector<json>& observations) {
    return ask("POST", path() + "/canaries/" + canary + ":observe", json{{"observations", observations}}.dump());
  }
  std::string base_, job_;
};

TEST_F(AdminCanaries, BeginHearAndRollBack) {
  const Answer opened = open({{"percent", 20}, {"margin", 0.05}});
  ASSERT_EQ(opened.status, 201) << opened.body;
  const json canary = opened.document();
  const std::string id = canary["id"];
  EXPECT_EQ(opened.head.header("location"), path() + "/canaries/" + id);
  EXPECT_EQ(canary["state"], "running");
  EXPECT_EQ(canary["percent"], 20);
  EXPECT_EQ(canary["margin"], 0.05);
  EXPECT_EQ(canary["base"], (json{{"job", base_}, {"version", 0}}));
  EXPECT_FALSE(canary.contains("salt"));
  EXPECT_FALSE(canary.contains("ended"));
  EXPECT_EQ(ask("GET", path() + "/canaries/" + id).document(), canary);
  EXPECT_EQ(ask("GET", path() + "/canaries").document()["canaries"], json::array({canary}));

  const json one = observe(id, {observation("a", 5, 0, 0, 5), observation("a", 5, 0, 0, 5)}).document();
  EXPECT_EQ(one["counted"], 1);
  EXPECT_EQ(one["repeated"], 1);
  EXPECT_EQ(one["verdict"], "open");
  std::vector<json> worse;
  for (int i = 0; i < 100; ++i) worse.push_back(observation("d" + std::to_string(i), 0, 0, 10, 0));
  const json over = observe(id, worse).document();
  EXPECT_EQ(over["state"], "rolled_back");
  EXPECT_EQ(over["verdict"], "harmful");
  EXPECT_TRUE(over.contains("ended"));
  EXPECT_EQ(over["counted"].get<int>() + over["late"].get<int>(), 100);
  EXPECT_GT(over["late"], 50) << "the first few have shown it";
  EXPECT_EQ(observe(id, worse).document()["late"], 100);
  EXPECT_FALSE(ask("GET", path()).document().contains("released"));
  server_.reset();
  AdminServerTest::SetUp();
  EXPECT_EQ(ask("GET", path() + "/canaries/" + id).document()["state"], "rolled_back") << "also after a restart";
}

TEST_F(AdminCanaries, ArePromotedByThemselvesOrByAPerson) {
  const std::string first = open({{"percent", 5}, {"promote_after", 2}}).document()["id"];
  const json promoted = observe(first, {observation("a", 1, 0, 0, 0), observation("b", 1, 0, 0, 0)}).document();
  EXPECT_EQ(promoted["state"], "promoted");
  EXPECT_EQ(ask("GET", path()).document()["released"]["version"], 0);
  EXPECT_EQ(open().status, 409) << "it is everybody's";
  job_ = create_job({{"name", "third"}});
  const std::string second = open().document()["id"];
  ASSERT_EQ(ask("POST", path() + "/models/0:promote").status, 200);
  const json by_a_person = ask("GET", path() + "/canaries/" + second).document();
  EXPECT_EQ(by_a_person["state"], "promoted");
  EXPECT_EQ(by_a_person["reason"], "promoted by an operator");
}

TEST_F(AdminCanaries, AreEndedByAnOperator) {
  const std::string id = open().document()["id"];
  EXPECT_EQ(ask("POST", "/admin/v1/jobs/" + base_ + "/models:rollback").status, 409);
  const Answer ended = ask("POST", path() + "/canaries/" + id + ":end");
  ASSERT_EQ(ended.status, 200) << ended.body;
  EXPECT_EQ(ended.document()["state"], "ended");
  EXPECT_EQ(ended.document()["reason"], "ended by an operator");
  EXPECT_EQ(ask("POST", path() + "/canaries/" + id + ":end").document(), ended.document());
}

TEST_F(AdminCanaries, AreRefusedWhereTheyCannotBe) {
  EXPECT_EQ(ask("POST", path() + "/models/1:canary", R"({"percent": 5})").status, 404);
  EXPECT_EQ(ask("POST", "/admin/v1/jobs/none/models/0:canary", R"({"percent": 5})").status, 404);
  EXPECT_EQ(open(json::object()).document()["errors"][0]["pointer"], "/percent");
  EXPECT_EQ(open({{"percent", 100}}).document()["errors"][0]["pointer"], "/percent");
  EXPECT_EQ(open({{"percent", 5}, {"share", 1}}).status, 400);
  EXPECT_EQ(open({{"percent", 5}, {"evaluation_job", 1}}).status, 400);
  EXPECT_EQ(open({{"percent", 5}, {"evaluation_job", "none"}}).status, 404);
  EXPECT_EQ(open({{"percent", 5}, {"evaluation_job", base_}}).status, 409) << "it trains";
  EXPECT_EQ(ask("POST", path() + "/models/0:canary", "[").status, 400);
  const std::string id = open().document()["id"];
  EXPECT_EQ(open().status, 409) << "one runs";
  EXPECT_EQ(ask("GET", path() + "/canaries/none").status, 404);
  EXPECT_EQ(ask("GET", "/admin/v1/jobs/" + base_ + "/canaries/" + id).status, 404) << "it is another job's";
  EXPECT_EQ(ask("POST", path() + "/canaries/none:end").status, 404);
  const std::string target = path() + "/canaries/" + id + ":observe";
  for (const char* const body : {"", "[]", "{}", R"({"observations": {}})", R"({"observations": []})",
                                 R"({"observations": [{}]})", R"({"observations": [1], "more": 1})"})
    EXPECT_EQ(ask("POST", target, body).status, 400) << body;
  for (json wrong : {observation("", 1, 0, 0, 0), observation("a b", 1, 0, 0, 0),
                     observation("evaluation.j.1.1", 1, 0, 0, 0), observation(std::string(65, 'a'), 1, 0, 0, 0),
                     observation("a", 0, 0, 0, 0), observation("a", 100'000'000, 1, 0, 0)})
    EXPECT_EQ(observe(id, {wrong}).status, 400) << wrong;
  json more = observation("a", 1, 0, 0, 0);
  more["weight"] = 2;
  EXPECT_EQ(observe(id, {more}).status, 400);
  EXPECT_EQ(observe(id, std::vector<json>(1'001, observation("a", 1, 0, 0, 0))).status, 400);
  EXPECT_EQ(ask("GET", path() + "/canaries/" + id).document()["heard"], 0) << "nothing of a wrong request counts";
}

TEST_F(AdminCanaries, AreBegunAndHeardOnceAKey) {
  idempotency_key_ = "begin";
  const json first = open().document();
  EXPECT_EQ(open().document(), first);
  idempotency_key_ = "say";
  const json said = observe(first["id"], {observation("a", 1, 0, 0, 0)}).document();
  EXPECT_EQ(said["counted"], 1);
  EXPECT_EQ(observe(first["id"], {observation("a", 1, 0, 0, 0)}).document(), said) << "the first answer again";
}

TEST_F(AdminCanaries, AreInTheAuditLog) {
  const std::string id = open().document()["id"];
  observe(id, {observation("a", 1, 0, 0, 0)});
  ask("POST", path() + "/canaries/" + id + ":end");
  for (const std::string action : {"canary.open", "canary.observe", "canary.end"}) {
    const json records = ask("GET", "/admin/v1/audit?action=" + action).document()["records"];
    ASSERT_EQ(records.size(), 2u) << action;
    EXPECT_THAT(records[1]["target"].get<std::string>(), testing::HasSubstr(path()));
  }
}

}  // namespace
}  // namespace coterie
