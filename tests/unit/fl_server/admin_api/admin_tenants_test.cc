// Two tenants on one server: every route of every role, for what is one's own and for what is another's; and nothing to
// notice for who has one tenant.
#include <gmock/gmock.h>

#include <regex>

#include "fl_server/admin_api/route.h"
#include "fl_server/store/sql/sqlite.h"
#include "fl_server/store/sql_training_store.h"
#include "proto/messages/cosine_buckets.h"
#include "proto/messages/norm_buckets.h"
#include "tests/unit/fl_server/admin_api/admin_server.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::Answer;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kAllRoles = R"(["viewer", "operator", "ml_engineer", "privacy_officer", "security_admin"])";

class AdminTenants : public test::AdminServerTest {
 protected:
  // A token with every role in this tenant, as a bearer.
  std::string bearer_of(const std::string& tenant) {
    const Answer made =
        ask("POST", "/admin/v1/tokens", R"({"label": "x", "tenant": ")" + tenant + R"(", "roles": )" + kAllRoles + "}");
    EXPECT_EQ(made.status, 201) << made.body;
    return "Bearer " + made.document()["token"].get<std::string>();
  }
  std::vector<std::string> ids(const std::string& bearer, const std::string& target, const char* key) {
    std::vector<std::string> found;
    const json list = ask_as(bearer, "GET", target).document();
    for (const json& item : list.at(key)) found.push_back(item["id"]);
    return found;
  }
  // The things of one tenant that paths name.
  struct Things {
    std::string job, token, admin_token;
  };
  Things things_of(const std::string& bearer, const std::string& population) {
    Things things;
    ModelBuilder build("small", {2}, 1);
    const Bytes model = build.finish(build.dense(build.input(), 3)).value();
    const json digest = ask_as(bearer, "POST", "/admin/v1/models", as_text(model)).document()["digest"];
    const Answer job = ask_as(bearer, "POST", "/admin/v1/jobs",
                              json{{"name", "n"}, {"model", digest}, {"population", population}}.dump());
    EXPECT_EQ(job.status, 201) << job.body;
    things.job = job.document().value("id", "");
    things.token = ask_as(bearer, "POST", "/admin/v1/enrollment-tokens", json{{"population", population}}.dump())
                       .document()
                       .value("id", "");
    things.admin_token =
        ask_as(bearer, "POST", "/admin/v1/tokens", R"({"label": "y", "roles": ["viewer"]})").document().value("id", "");
    return things;
  }
  // Round 1 of a job that has none, with a version whose updates were measured; to be called while no server runs.
  Status commit_measured_round(const JobId& job) {
    COT_ASSIGN(const auto store, SqlTrainingStore::open(open_sqlite(directory_ / "data/coterie.sqlite3")));
    COT_ASSIGN(const JobProgress progress, store->load_progress(job));
    const WallTime now = progress.head.created;
    COT_ASSIGN(const RoundRecord round, store->open_round(job, {1, {}, Attempt(1), progress.head}, now));
    using enum RoundState;
    for (const auto& [from, to] : {std::pair(selecting, collecting), {collecting, frozen}, {frozen, finalizing}}) {
      COT_ASSIGN(const bool moved, store->move_round({round.key, from, to, "", 0}, now));
      if (!moved) return Error(ErrorCode::conflict, "somebody else moves this round");
    }
    ModelRecord model = progress.head;
    model.version = ModelVersion(1);
    model.update_norms.emplace().counts[norm_bucket(1)] = 3;
    model.update_cosines.emplace().counts[cosine_bucket(0.9)] = 3;
    COT_TRY(store->commit_round(job, {{round.key, model, {3, 30, 300, 1.5, 200, 9}}, 1, false, true}, now));
    return {};
  }
  static std::string path_of(const AdminRoute& route, const Things& things) {
    std::string path(route.pattern);
    const bool is_admin_token = path.starts_with("/admin/v1/tokens/");
    path = std::regex_replace(path, std::regex("\\{job\\}"), things.job);
    path = std::regex_replace(path, std::regex("\\{token\\}"), is_admin_token ? things.admin_token : things.token);
    path = std::regex_replace(path, std::regex("\\{version\\}"), "0");
    path = std::regex_replace(path, std::regex("\\{digest\\}"), std::string(64, '0'));
    path = std::regex_replace(path, std::regex("\\{canary\\}"), std::string(32, '0'));
    path = std::regex_replace(path, std::regex("\\{vertical_job\\}"), std::string(32, '0'));
    path = std::regex_replace(path, std::regex("\\{round\\}"), "1");
    return std::regex_replace(path, std::regex("\\{device\\}"), std::string(32, '0'));
  }
};

TEST_F(AdminTenants, SeeWhatIsTheirsAndNothingElseByAnyRoute) {
  const std::string acme = bearer_of("acme"), other = bearer_of("other");
  const Things of_acme = things_of(acme, "phones");
  const json before = ask("GET", "/admin/v1/jobs/" + of_acme.job).document();
  size_t asked = 0;
  for (const AdminRoute& route : admin_routes()) {
    if (route.pattern.find('{') == std::string_view::npos || route.operation == "streamEvents") continue;
    if (route.traits.whole_server) continue;  // below
    const Answer answer = ask_as(other, route.method, path_of(route, of_acme));
    EXPECT_EQ(answer.status, 404) << route.operation << ": " << answer.body;
    ++asked;
  }
  EXPECT_GE(asked, 12u);
  EXPECT_EQ(ask_as(other, "GET", "/admin/v1/jobs/" + of_acme.job + "/events").status, 404);
  EXPECT_EQ(ask("GET", "/admin/v1/jobs/" + of_acme.job).document(), before) << "nothing was changed";
  EXPECT_EQ(ask_as(other, "GET", "/admin/v1/jobs/" + of_acme.job).document()["detail"], "no such job: " + of_acme.job)
      << "the words for a job that does not exist";
  for (const AdminRoute& route : admin_routes()) {
    if (route.pattern.find("{job}") == std::string_view::npos || route.method != "GET" ||
        route.operation == "streamEvents" || route.operation == "getCanary" || route.operation == "getRoundTrace" ||
        route.operation == "getRoundWhy")  // it has no canary, and no round
      continue;
    const int wanted = route.operation == "getAnalyticsResult" ? 400 : 200;  // the job trains and counts nothing
    EXPECT_EQ(ask_as(acme, route.method, path_of(route, of_acme)).status, wanted) << route.operation;
    EXPECT_EQ(ask("GET", path_of(route, of_acme)).status, wanted) << "the token of all tenants: " << route.operation;
  }
  EXPECT_EQ(ask_as(acme, "POST", "/admin/v1/jobs/" + of_acme.job + ":pause").status, 200);
  EXPECT_EQ(ask_as(acme, "DELETE", "/admin/v1/enrollment-tokens/" + of_acme.token).status, 204);
  EXPECT_EQ(ask_as(acme, "DELETE", "/admin/v1/tokens/" + of_acme.admin_token).status, 204);
}

TEST_F(AdminTenants, ListWhatIsTheirs) {
  const std::string acme = bearer_of("acme"), other = bearer_of("other"), plain = bearer_of("default");
  const Things of_acme = things_of(acme, "phones"), of_other = things_of(other, "cars"),
               of_default = things_of(plain, "default");
  for (const auto& [bearer, own] :
       std::vector<std::pair<std::string, Things>>{{acme, of_acme}, {other, of_other}, {plain, of_default}}) {
    EXPECT_THAT(ids(bearer, "/admin/v1/jobs", "jobs"), ElementsAre(own.job));
    EXPECT_THAT(ids(bearer, "/admin/v1/enrollment-tokens", "tokens"), ElementsAre(own.token));
    EXPECT_THAT(ids(bearer, "/admin/v1/tokens", "tokens"), testing::Contains(own.admin_token));
    EXPECT_EQ(ids(bearer, "/admin/v1/tokens", "tokens").size(), 2u) << "and its own";
    EXPECT_EQ(ask_as(bearer, "GET", "/admin/v1/devices").document()["total"], 0);
    EXPECT_THAT(ask_as(bearer, "GET", "/admin/v1/ledger").document()["records"], IsEmpty());
    const json server = ask_as(bearer, "GET", "/admin/v1/server").document();
    for (const json& job : server["jobs"]) EXPECT_EQ(job["job"], own.job);
    EXPECT_FALSE(server.contains("alarms") || server.contains("refusals")) << "they are of all tenants";
  }
  EXPECT_EQ(ask("GET", "/admin/v1/server").document()["alarms"], json::array());
  EXPECT_TRUE(ask("GET", "/admin/v1/server").document()["refusals"]["requests"].is_object());
  EXPECT_EQ(ids("Bearer " + token_, "/admin/v1/jobs", "jobs").size(), 3u);
  EXPECT_EQ(ask("GET", "/admin/v1/jobs/" + of_acme.job).document()["tenant"], "acme");
  EXPECT_FALSE(ask("GET", "/admin/v1/jobs/" + of_default.job).document().contains("tenant"))
      << "who has one tenant sees nothing of it";
}

// What says most of single devices without noise: it is nobody's but the tenant's whose devices they are.
TEST_F(AdminTenants, SeeNormsAndCosinesOfUpdatesOfTheirOwnJobsAlone) {
  const std::string acme = bearer_of("acme"), other = bearer_of("other");
  const Things of_acme = things_of(acme, "phones");
  server_.reset();
  ASSERT_OK(commit_measured_round(JobId(of_acme.job)));
  SetUp();
  for (const char* what : {"/models", "/models/1", "/rounds", "/curves"}) {
    const std::string path = "/admin/v1/jobs/" + of_acme.job + what;
    for (const std::string& bearer : {acme, "Bearer " + token_}) {
      const Answer told = ask_as(bearer, "GET", path);
      EXPECT_EQ(told.status, 200) << what;
      for (const char* name : {"update_norm", "update_cosine"})
        EXPECT_NE(told.body.find(name), std::string::npos) << what << ": " << told.body;
    }
    const Answer refused = ask_as(other, "GET", path);
    EXPECT_EQ(refused.status, 404) << what;
    EXPECT_EQ(refused.body.find("update_"), std::string::npos) << what << ": " << refused.body;
  }
}

TEST_F(AdminTenants, SetAndSeeBudgetsOfTheirOwnPopulations) {
  constexpr const char* kBudgets = "/admin/v1/privacy-budgets";
  const std::string acme = bearer_of("acme"), other = bearer_of("other");
  things_of(acme, "phones");
  const auto body = [](const char* population) {
    return json{{"population", population}, {"epsilon", 3}, {"delta", 1e-6}}.dump();
  };
  EXPECT_EQ(ask_as(acme, "POST", kBudgets, body("phones")).status, 200);
  EXPECT_EQ(ask_as(other, "POST", kBudgets, body("phones")).status, 400) << "as if there were none";
  EXPECT_EQ(ask_as(other, "POST", kBudgets, body("cars")).status, 200) << "now it is theirs";
  EXPECT_EQ(ask_as(acme, "POST", kBudgets, body("cars")).status, 400);
  EXPECT_EQ(ask_as(acme, "GET", kBudgets).document()["privacy_budgets"].size(), 1u);
  EXPECT_THAT(ask_as(other, "GET", std::string(kBudgets) + "?population=phones").document()["privacy_budgets"],
              IsEmpty());
  EXPECT_EQ(ask("GET", kBudgets).document()["privacy_budgets"].size(), 2u);
}

TEST_F(AdminTenants, AreNotToldOfTheWholeServer) {
  const std::string acme = bearer_of("acme");
  size_t refused = 0;
  for (const AdminRoute& route : admin_routes()) {
    if (!route.traits.whole_server) continue;
    const std::string path = path_of(route, {});
    EXPECT_EQ(ask_as(acme, route.method, path).status, 403) << route.operation;
    EXPECT_EQ(ask(route.method, path).status, route.method == "GET" ? 200 : 404) << route.operation;
    ++refused;
  }
  EXPECT_EQ(refused, 2u) << "metrics and the audit log";
}

TEST_F(AdminTenants, RemoveUploadsOfTheirOwn) {
  const std::string acme = bearer_of("acme"), other = bearer_of("other");
  ModelBuilder build("small", {2}, 1);
  const Bytes model = build.finish(build.dense(build.input(), 3)).value();
  const std::string path =
      "/admin/v1/models/" + ask_as(acme, "POST", "/admin/v1/models", as_text(model)).document().value("digest", "");
  EXPECT_EQ(ask_as(other, "DELETE", path).status, 404) << "as one that is not there";
  const Answer early = ask_as(acme, "DELETE", path);
  EXPECT_EQ(early.status, 409) << early.body;
  EXPECT_NE(early.body.find("within the last ten minutes"), std::string::npos) << early.body;
  EXPECT_EQ(ask_as(other, "POST", "/admin/v1/models", as_text(model)).status, 201);
  EXPECT_EQ(ask_as(other, "DELETE", path).status, 409) << "now it has it, too";
  things_of(acme, "phones");  // a job of the same bytes
  EXPECT_NE(ask_as(acme, "DELETE", path).body.find("a job or a version of a model is made of it"), std::string::npos);
}

TEST_F(AdminTenants, CannotTakeWhatIsAnothers) {
  const std::string acme = bearer_of("acme"), other = bearer_of("other");
  things_of(acme, "phones");
  ask("POST", "/admin/v1/enrollment-tokens", R"({"population": "lab"})");
  for (const char* population : {"phones", "lab"}) {
    const json body = {{"population", population}};
    const Answer token = ask_as(other, "POST", "/admin/v1/enrollment-tokens", body.dump());
    EXPECT_EQ(token.status, 400) << population;
    EXPECT_EQ(token.document()["errors"][0]["pointer"], "/population");
  }
  EXPECT_EQ(ask("POST", "/admin/v1/enrollment-tokens", R"({"population": "phones"})").status, 400)
      << "nor can the default tenant";
  EXPECT_EQ(ask("POST", "/admin/v1/enrollment-tokens", R"({"population": "phones", "tenant": "acme"})").status, 201);
  EXPECT_EQ(ask_as(other, "POST", "/admin/v1/enrollment-tokens", R"({"population": "x", "tenant": "acme"})")
                .document()["errors"][0]["pointer"],
            "/tenant");
  EXPECT_EQ(ask_as(other, "POST", "/admin/v1/tokens", R"({"label": "x", "roles": ["viewer"], "tenant": "*"})")
                .document()["errors"][0]["pointer"],
            "/tenant");
  EXPECT_EQ(
      ask_as(other, "POST", "/admin/v1/tokens", R"({"label": "x", "roles": ["viewer"], "tenant": "acme"})").status,
      400);
  EXPECT_EQ(ask("POST", "/admin/v1/tokens", R"({"label": "x", "roles": ["viewer"], "tenant": "A c"})")
                .document()["errors"][0]["pointer"],
            "/tenant");
  EXPECT_EQ(ask_as(other, "POST", "/admin/v1/jobs?tenant=acme", "{}").document()["code"], "invalid_argument");
}

TEST_F(AdminTenants, KeepWhatTheyHaveOverARestart) {
  const std::string acme = bearer_of("acme");
  const Things of_acme = things_of(acme, "phones");
  const std::string given = create_job({{"name", "g"}, {"population", "phones"}}, "?tenant=acme");
  server_.reset();
  SetUp();
  EXPECT_THAT(ids(acme, "/admin/v1/jobs", "jobs"), testing::UnorderedElementsAre(of_acme.job, given));
}

}  // namespace
}  // namespace coterie
