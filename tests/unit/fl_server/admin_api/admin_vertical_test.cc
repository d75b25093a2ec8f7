// Vertical jobs on the admin plane of a server in this process, which is the operator of a live coordinator.
#include <gmock/gmock.h>

#include "fl_server/admin_api/route.h"
#include "tests/unit/fl_server/admin_api/admin_server.h"
#include "tests/unit/vertical_coordinator/live_coordinator.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::Answer;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using vertical::Request;
using vertical::RequestKind;

const std::string kJobs = "/admin/v1/vertical-jobs";
const std::string kId = "4a" + std::string(30, '0');  // of the manifest that begins with J
const std::string kPath = kJobs + "/" + kId;

class Coordinator : public vertical::test::LiveCoordinator {
 public:
  using LiveCoordinator::about;
  using LiveCoordinator::approve;
  using LiveCoordinator::ask;
  using LiveCoordinator::door;
  using LiveCoordinator::start;
  using LiveCoordinator::stop;
  using LiveCoordinator::submit_and_approve;
  ~Coordinator() { stop(); }
  void submit(const std::string& manifest) {
    ASSERT_OK(ask("label", {.kind = RequestKind::submit, .manifest = manifest, .job = {}}));
  }
};

class AdminVertical : public test::AdminServerTest {
 protected:
  void SetUp() override {
    coordinator_.start();
    AdminServerTest::SetUp();
  }
  void configure(ServerConfig& config) override {
    const vertical::CoordinatorDoor door = coordinator_.door(who_);
    config.vertical = VerticalSettings{.address = door.host,
                                       .port = door.port,
                                       .name = door.tls.peer_name,
                                       .ca_file = door.tls.ca_file,
                                       .certificate_file = door.tls.certificate_file,
                                       .key_file = door.tls.key_file,
                                       .tenant = "acme"};
  }
  std::string bearer(const std::string& tenant, const std::string& role) {
    const Answer made = ask("POST", "/admin/v1/tokens",
                            json{{"label", "x"}, {"tenant", tenant}, {"roles", json::array({role})}}.dump());
    EXPECT_EQ(made.status, 201) << made.body;
    return "Bearer " + made.document()["token"].get<std::string>();
  }
  std::vector<std::string> ids(const std::string& query = {}) {
    const json list = ask("GET", kJobs + query).document();
    std::vector<std::string> found;
    for (const json& job : list.at("vertical_jobs")) found.push_back(job["id"]);
    return found;
  }

  std::string who_ = "operator";
  Coordinator coordinator_;
};

TEST_F(AdminVertical, ShowsAJobWithItsPartiesStagesAndLeakage) {
  EXPECT_EQ(ask("GET", kJobs).document(), (json{{"coordinator", true}, {"vertical_jobs", json::array()}}));
  coordinator_.submit("J manifest");
  ASSERT_OK(coordinator_.approve("feature"));
  const json shown = ask("GET", kPath).document();
  EXPECT_EQ(shown["kind"], "vertical");
  EXPECT_EQ(shown["manifest_kind"], "vertical_trees");
  EXPECT_EQ(shown["state"], "created");
  EXPECT_EQ(shown["submitted_by"], "label");
  EXPECT_EQ(shown["parties"][0], (json{{"role", "label"},
                                       {"name", "label"},
                                       {"approved", false},
                                       {"paused", false},
                                       {"done", false},
                                       {"relayed_bytes", 0}}));
  EXPECT_EQ(shown["parties"][1]["approved"], true);
  EXPECT_EQ(shown["leakage"].size(), 3u);
  EXPECT_EQ(shown["leakage"][1]["id"], "L3");
  EXPECT_EQ(shown["leakage"][1]["feature_party_learns"], "which rows share a node; which of its cuts won");
  EXPECT_EQ(shown["stages"], json::array());
  EXPECT_FALSE(shown.contains("reason"));
  EXPECT_EQ(ask("GET", kJobs).document()["vertical_jobs"], json::array({shown}));
}

TEST_F(AdminVertical, ListsInPages) {
  for (const char* manifest : {"C", "A", "B"}) coordinator_.submit(manifest);
  const auto id = [](const std::string& first) { return first + std::string(30, '0'); };
  EXPECT_THAT(ids(), ElementsAre(id("41"), id("42"), id("43")));
  const json first = ask("GET", kJobs + "?limit=2").document();
  EXPECT_EQ(first["next_after"], id("42"));
  EXPECT_THAT(ids("?limit=2&after=" + id("42")), ElementsAre(id("43")));
  EXPECT_FALSE(ask("GET", kJobs + "?limit=3").document().contains("next_after"));
  EXPECT_EQ(ask("GET", kJobs + "?after=x").document()["errors"][0]["pointer"], "?after");
  EXPECT_EQ(ask("GET", kJobs + "?before=x").status, 400);
}

TEST_F(AdminVertical, PausesResumesAndCancels) {
  coordinator_.submit_and_approve();
  const json paused = ask("POST", kPath + ":pause").document();
  EXPECT_EQ(paused["state"], "paused");
  EXPECT_EQ(paused["reason"], "operator_paused");
  EXPECT_EQ(paused["paused_by_operator"], true);
  EXPECT_EQ(ask("POST", kPath + ":resume").document()["state"], "approved");
  const Answer cancelled = ask("POST", kPath + ":cancel");
  EXPECT_EQ(cancelled.status, 200);
  EXPECT_EQ(cancelled.document()["reason"], "operator_cancelled");
  const Result<vertical::JobView> view = coordinator_.ask("label", coordinator_.about(RequestKind::status));
  ASSERT_OK(view);
  EXPECT_EQ(view->state, vertical::JobState::cancelled) << "its parties hear of it";
  const Answer late = ask("POST", kPath + ":pause");
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(late.document()["reason"], "job_over");
}

TEST_F(AdminVertical, RefusesAPauseOfWhatIsNotApproved) {
  coordinator_.submit("J manifest");
  const Answer early = ask("POST", kPath + ":pause");
  EXPECT_EQ(early.status, 409);
  EXPECT_EQ(early.document()["reason"], "not_approved");
}

TEST_F(AdminVertical, HasNoRouteThatApproves) {
  for (const AdminRoute& route : admin_routes()) {
    if (route.pattern.starts_with("/admin/v1/vertical-jobs")) {
      EXPECT_THAT(std::string(route.pattern), Not(HasSubstr("approve")));
    }
  }
  EXPECT_EQ(ask("POST", kPath + ":approve").status, 404);
}

TEST_F(AdminVertical, SaysNothingOfUnknownAndHostileNames) {
  coordinator_.submit("J manifest");
  const Answer unknown = ask("GET", kJobs + "/" + std::string(32, '0'));
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.document()["reason"], "unknown_job");
  for (const char* name : {"4A000000000000000000000000000000", "J", "4a0000000000000000000000000000000"}) {
    EXPECT_EQ(ask("GET", kJobs + "/" + name).status, 404) << name;
    EXPECT_EQ(ask("POST", kJobs + "/" + name + ":cancel").status, 404) << name;
  }
  // No path for any route.
  for (const char* name : {"..", "%2e%2e%2f", "%00", "%34%61"})
    EXPECT_EQ(ask("GET", kJobs + "/" + name).status, 400) << name;
  EXPECT_EQ(ask("GET", kPath).document()["state"], "created");
}

TEST_F(AdminVertical, ShowsEachRoleWhatItMay) {
  coordinator_.submit_and_approve();
  const std::string viewer = bearer("acme", "viewer"), officer = bearer("acme", "privacy_officer"),
                    op = bearer("acme", "operator");
  EXPECT_EQ(ask_as(viewer, "GET", kPath).status, 200);
  for (const char* step : {":pause", ":resume", ":cancel"}) {
    EXPECT_EQ(ask_as(viewer, "POST", kPath + step).status, 403) << step;
  }
  EXPECT_EQ(ask_as(officer, "POST", kPath + ":pause").status, 200);
  EXPECT_EQ(ask_as(officer, "POST", kPath + ":resume").status, 403) << "it stops, and lets nothing go on";
  EXPECT_EQ(ask_as(op, "POST", kPath + ":resume").status, 200);
  EXPECT_EQ(ask_as("", "GET", kPath).status, 401);
}

TEST_F(AdminVertical, BelongsToOneTenant) {
  coordinator_.submit_and_approve();
  const std::string acme = bearer("acme", "operator"), other = bearer("other", "operator");
  EXPECT_EQ(ask_as(acme, "GET", kJobs).document()["vertical_jobs"].size(), 1u);
  EXPECT_EQ(ask_as(other, "GET", kJobs).document(), (json{{"coordinator", false}, {"vertical_jobs", json::array()}}));
  EXPECT_EQ(ask_as(other, "GET", kPath).document()["detail"],
            ask_as(acme, "GET", kJobs + "/" + std::string(32, '0')).document()["detail"])
      << "the words for a job that does not exist";
  EXPECT_EQ(ask_as(other, "POST", kPath + ":cancel").status, 404);
  EXPECT_EQ(ask("GET", kPath).document()["state"], "approved");
}

TEST_F(AdminVertical, LeavesItsStepsInTheAuditLog) {
  coordinator_.submit_and_approve();
  ask("POST", kPath + ":pause");
  ask_as(bearer("acme", "viewer"), "POST", kPath + ":cancel");
  std::vector<std::string> lines;
  const json log = ask("GET", "/admin/v1/audit?limit=1000").document();
  for (const json& record : log["records"]) {
    lines.push_back(record["action"].get<std::string>() + " " + record["target"].get<std::string>() + " " +
                    record["outcome"].dump());
  }
  EXPECT_THAT(lines, Contains("vertical_job.pause " + kPath + ":pause 0"));
  EXPECT_THAT(lines, Contains("vertical_job.pause " + kPath + ":pause 200"));
  EXPECT_THAT(lines, Contains("vertical_job.cancel " + kPath + ":cancel 403"));
}

TEST_F(AdminVertical, SaysThatACoordinatorIsAway) {
  coordinator_.submit("J manifest");
  coordinator_.stop();
  const Answer away = ask("GET", kPath);
  EXPECT_EQ(away.status, 503) << away.body;
  EXPECT_THAT(away.document()["detail"].get<std::string>(), HasSubstr("coordinator"));
  EXPECT_EQ(ask("GET", kJobs).status, 503);
  EXPECT_EQ(ask("GET", "/admin/v1/jobs").status, 200) << "all else goes on";
}

class AdminVerticalStranger : public AdminVertical {
 protected:
  AdminVerticalStranger() { who_ = "stranger"; }
};

// The coordinator's refusal is of this server's certificate: no caller is told to sign in again for it.
TEST_F(AdminVerticalStranger, IsRefusedByACoordinatorThatDoesNotNameIt) {
  coordinator_.submit("J manifest");
  for (const Answer& answer : {ask("GET", kJobs), ask("GET", kPath), ask("POST", kPath + ":cancel")}) {
    EXPECT_EQ(answer.status, 503) << answer.body;
  }
  EXPECT_EQ(ask("GET", kPath).document()["reason"], "not_an_operator");
}

class AdminWithoutCoordinator : public test::AdminServerTest {};

TEST_F(AdminWithoutCoordinator, HasNoVerticalJobs) {
  EXPECT_EQ(ask("GET", kJobs).document(), (json{{"coordinator", false}, {"vertical_jobs", json::array()}}));
  EXPECT_THAT(ask("GET", kPath).document()["detail"].get<std::string>(), HasSubstr("no coordinator"));
  EXPECT_EQ(ask("POST", kPath + ":cancel").status, 404);
}

}  // namespace
}  // namespace coterie
