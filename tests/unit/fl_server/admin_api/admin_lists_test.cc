// Lists of the admin plane: filters, pages; ETags of what changes.
#include <gmock/gmock.h>

#include "base/os/clock.h"
#include "tests/unit/fl_server/admin_api/admin_server.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::Answer;
using testing::ElementsAre;

class AdminLists : public test::AdminServerTest {
 protected:
  // The `name`s (or what `at` points to) of all pages of a list.
  std::vector<std::string> all(const std::string& target, const char* key, const char* at) {
    std::vector<std::string> found;
    std::string after;
    for (;;) {
      const json page = ask("GET", target + (after.empty() ? "" : "&after=" + after)).document();
      for (const json& item : page.at(key)) found.push_back(item.at(json::json_pointer(at)).dump());
      if (!page.contains("next_after")) return found;
      after = page["next_after"].is_string() ? page["next_after"].get<std::string>() : page["next_after"].dump();
    }
  }
};

TEST_F(AdminLists, OfJobsAreFilteredAndPaged) {
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i)
    ids.push_back(create_job({{"name", "n" + std::to_string(i)}, {"population", i < 3 ? "phones" : "cars"}}));
  ASSERT_EQ(ask("POST", "/admin/v1/jobs/" + ids[1] + ":pause").status, 200);
  const auto names = [&](const std::string& query) { return all("/admin/v1/jobs?" + query, "jobs", "/spec/name"); };
  // Several may be made in one millisecond: then their ids, which are random, decide.
  EXPECT_THAT(names("limit=2"), testing::UnorderedElementsAre("\"n0\"", "\"n1\"", "\"n2\"", "\"n3\"", "\"n4\""));
  EXPECT_THAT(names("limit=1&population=phones"), testing::UnorderedElementsAre("\"n0\"", "\"n1\"", "\"n2\""));
  EXPECT_THAT(names("state=paused"), ElementsAre("\"n1\""));
  EXPECT_THAT(names("state=running&population=phones"), testing::UnorderedElementsAre("\"n0\"", "\"n2\""));
  EXPECT_THAT(names("state=failed"), testing::IsEmpty());
  const Answer wrong = ask("GET", "/admin/v1/jobs?state=dead&limit=1001&after=x&stat=1");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.document()["code"], "invalid_argument");
  EXPECT_EQ(wrong.document()["errors"].size(), 4u) << wrong.body;
  EXPECT_EQ(ask("GET", "/admin/v1/jobs?limit=1&limit=2").document()["errors"][0]["pointer"], "?limit");
}

TEST_F(AdminLists, OfTokensArePaged) {
  std::set<std::string> made;
  for (int i = 0; i < 5; ++i) made.insert(ask("POST", "/admin/v1/enrollment-tokens", "{}").document()["id"].dump());
  const std::vector<std::string> listed = all("/admin/v1/enrollment-tokens?limit=2", "tokens", "/id");
  EXPECT_EQ(listed.size(), 5u);
  EXPECT_EQ(std::set(listed.begin(), listed.end()), made);
  for (int i = 0; i < 3; ++i) ask("POST", "/admin/v1/tokens", R"({"label": "v", "roles": ["viewer"]})");
  EXPECT_EQ(all("/admin/v1/tokens?limit=1", "tokens", "/id").size(), 3u);
  for (const char* target :
       {"/admin/v1/enrollment-tokens", "/admin/v1/tokens", "/admin/v1/audit", "/admin/v1/devices"}) {
    const Answer wrong = ask("GET", target + std::string("?limit=x&after=~&nothing=1"));
    EXPECT_EQ(wrong.status, 400) << target;
    EXPECT_EQ(wrong.document()["errors"].size(), 3u) << wrong.body;
  }
}

TEST_F(AdminLists, OfDevicesAndRecordsTakeTheirFilters) {
  EXPECT_EQ(ask("GET", "/admin/v1/devices?population=phones&revoked=true").document()["total"], 0);
  EXPECT_EQ(ask("GET", "/admin/v1/devices?revoked=yes").document()["errors"][0]["pointer"], "?revoked");
  ask("POST", "/admin/v1/jobs/none:pause");
  EXPECT_EQ(
      ask("GET", "/admin/v1/audit?since=2000-01-01T00:00:00Z&until=9999-01-01T00:00:00Z").document()["records"].size(),
      2u);
  EXPECT_EQ(ask("GET", "/admin/v1/audit?until=2000-01-01T00:00:00Z").document()["records"].size(), 0u);
  EXPECT_EQ(ask("GET", "/admin/v1/audit?since=yesterday").document()["errors"][0]["pointer"], "?since");
}

TEST_F(AdminLists, OfRoundsAndModelsOfAJobTakeTheirFilters) {
  const std::string job = "/admin/v1/jobs/" + create_job({{"name", "n"}});
  EXPECT_EQ(ask("GET", job + "/rounds?state=failed").document()["rounds"].size(), 0u);
  json live;
  const Instant until = os::monotonic_now() + Millis(30'000);
  do {
    live = ask("GET", job + "/rounds?limit=1").document();
  } while (live["rounds"].empty() &&
           os::monotonic_now() < until);  // the job is answered for before its first round begins
  ASSERT_EQ(live["rounds"].size(), 1u) << "its first round";
  EXPECT_EQ(live["next_before"], "1.1");
  EXPECT_EQ(ask("GET", job + "/rounds?before=1.1").document()["rounds"].size(), 0u);
  EXPECT_EQ(ask("GET", job + "/rounds?before=1.2").document()["rounds"].size(), 1u);
  for (const char* before : {"1", "1.", ".1", "1.x", "-1.1", "1.1.1", "9223372036854775808.1"}) {
    EXPECT_EQ(ask("GET", job + "/rounds?before=" + before).status, 400) << before;
  }
  EXPECT_EQ(ask("GET", job + "/rounds?state=lost").document()["errors"][0]["pointer"], "?state");
  const json curves = ask("GET", job + "/curves?points=100000").document();
  EXPECT_EQ(curves["rounds"], 0) << "its first round is not done";
  EXPECT_EQ(curves["columns"], json::object());
  for (const char* points : {"0", "2", "100001", "x"})
    EXPECT_EQ(ask("GET", job + "/curves?points=" + points).document()["errors"][0]["pointer"], "?points") << points;
  EXPECT_EQ(ask("GET", "/admin/v1/jobs/none/curves").status, 404);
  EXPECT_EQ(ask("GET", job + "/models").document()["models"].size(), 1u);
  EXPECT_EQ(ask("GET", job + "/models?after=0").document()["models"].size(), 0u);
  EXPECT_EQ(ask("GET", job + "/models?after=x").status, 400);
}

// ---- ETag, If-None-Match, If-Match

TEST_F(AdminLists, OfNodesSayWhoLeads) {
  const json told = ask("GET", "/admin/v1/nodes").document();
  ASSERT_EQ(told["nodes"].size(), 1u) << "a server that is alone";
  EXPECT_EQ(told["leader"], told["nodes"][0]["node"]);
  EXPECT_EQ(told["nodes"][0]["leads"], true);
}

TEST_F(AdminLists, AreNotSentAgainToWhoHasThem) {
  const std::string job = "/admin/v1/jobs/" + create_job({{"name", "n"}});
  for (const std::string& target : {job, job + "/models", job + "/models/0"}) {
    headers_.clear();
    const std::string tag(ask("GET", target).head.header("etag"));
    EXPECT_EQ(tag.size(), 34u) << target;
    headers_ = {{"If-None-Match", "\"x\", " + tag}};
    const Answer same = ask("GET", target);
    EXPECT_EQ(same.status, 304) << target;
    EXPECT_EQ(same.body, "");
    EXPECT_EQ(same.head.header("etag"), tag);
    headers_ = {{"If-None-Match", "\"x\""}};
    EXPECT_EQ(ask("GET", target).status, 200) << "and the connection is in step";
  }
}

TEST_F(AdminLists, ChangeAJobOnlyAsItWasSeen) {
  const std::string job = "/admin/v1/jobs/" + create_job({{"name", "n"}});
  const std::string seen(ask("GET", job).head.header("etag"));
  const Answer paused = ask("POST", job + ":pause");
  ASSERT_EQ(paused.status, 200);
  const std::string now(paused.head.header("etag"));
  EXPECT_NE(now, seen);
  EXPECT_EQ(ask("GET", job).head.header("etag"), now);

  headers_ = {{"If-Match", seen}};
  const Answer late = ask("POST", job + ":cancel");
  EXPECT_EQ(late.status, 412);
  EXPECT_EQ(late.document()["status"], 412);
  EXPECT_EQ(late.head.header("content-type"), "application/problem+json");
  EXPECT_EQ(ask("GET", job).document()["state"], "paused") << "nothing was done";
  EXPECT_EQ(ask("POST", "/admin/v1/jobs/none:cancel").status, 404);
  headers_ = {{"If-Match", "W/" + now}};
  EXPECT_EQ(ask("POST", job + ":cancel").status, 412) << "weak tags do not match";

  headers_ = {{"If-Match", "\"other\", " + now}};
  const Answer cancelled = ask("POST", job + ":cancel");
  EXPECT_EQ(cancelled.status, 200);
  headers_ = {{"If-Match", std::string(cancelled.head.header("etag"))}};
  EXPECT_EQ(ask("POST", job + ":resume").status, 409) << "it is as it was seen, and cannot go on";
  headers_ = {{"If-Match", "*"}};
  EXPECT_EQ(ask("POST", job + ":cancel").status, 200);
}

}  // namespace
}  // namespace coterie
