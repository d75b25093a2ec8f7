// What the admin client makes of a server's answers and of what the user said about the connection.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tools/admin/admin_client.h"
#include "tools/admin/connection.h"
#include "tools/admin/round_report.h"

namespace coterie {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(ErrorOfAnswer, TellsTheDetailAndEachErrorOfAProblemDocument) {
  const Error error = error_of_answer(422, "application/problem+json; charset=utf-8",
                                      R"({"code":"too_large","title":"t","detail":"it is too long","errors":)"
                                      R"([{"pointer":"/a","detail":"is bad"},7,{"detail":"all of it"}]})");
  EXPECT_EQ(error.code(), ErrorCode::too_large);
  EXPECT_EQ(error.message(), "it is too long\n  /a: is bad\n  /: all of it");
}

TEST(ErrorOfAnswer, GoesByTheStatusWhereTheAnswerIsAnythingElse) {
  for (const char* body : {"", "<html>", "[]", "{}"}) {
    const Error error = error_of_answer(401, "text/html", body);
    EXPECT_EQ(error.code(), ErrorCode::unauthenticated);
    EXPECT_EQ(error.message(), "the server answered HTTP status 401");
  }
  EXPECT_EQ(error_of_answer(299, "", "").code(), ErrorCode::internal);
}

TEST(PathSegment, CannotBecomeAnotherRoute) {
  EXPECT_EQ(path_segment("jk2x9q4c"), "jk2x9q4c");
  EXPECT_EQ(path_segment("../a?b#c d%"), "%2e%2e%2fa%3fb%23c%20d%25");
}

class FindAdmin : public testing::Test {
 protected:
  FindAdmin() {
    put("ca.pem", "CA\n");
    put("token", "secret \r\n");
    put("empty", "\n");
  }
  void put(const std::string& name, const std::string& text) {
    ASSERT_OK(os::write_file_atomically(directory_ / name, as_bytes(text)));
  }
  void put_endpoints() {
    put("endpoints.json", json({{"device_url", "https://d"},
                                {"admin_url", "https://a"},
                                {"ca_file", directory_ / "ca.pem"},
                                {"admin_token_file", directory_ / "token"},
                                {"pid", 7}})
                              .dump());
  }

  test::TemporaryDirectory directory_;
};

TEST_F(FindAdmin, ReadsWhatARunningServerWroteDown) {
  put_endpoints();
  const auto endpoint = find_admin({.data_dir = directory_.path(), .admin_url = {}, .ca_file = {}, .token_file = {}});
  ASSERT_OK(endpoint);
  EXPECT_EQ(endpoint->url, "https://a");
  EXPECT_EQ(endpoint->ca_pem, "CA\n");
  EXPECT_EQ(endpoint->token, "secret");
}

TEST_F(FindAdmin, NeedsNoDirectoryWhereEverythingIsSaid) {
  const auto endpoint =
      find_admin({.data_dir = {}, .admin_url = "https://b", .ca_file = {}, .token_file = directory_ / "token"});
  ASSERT_OK(endpoint);
  EXPECT_EQ(endpoint->url, "https://b");
  EXPECT_EQ(endpoint->ca_pem, "");
}

TEST_F(FindAdmin, SaysWhichSettingIsWrongAndWhatToDo) {
  EXPECT_ERROR(find_admin({.data_dir = directory_.path(), .admin_url = {}, .ca_file = {}, .token_file = {}}),
               ErrorCode::not_found, "start one with `fl_server --data-dir");
  EXPECT_ERROR(find_admin({.data_dir = {}, .admin_url = "https://b", .ca_file = {}, .token_file = {}}),
               ErrorCode::invalid_argument, "--admin-url needs --token-file");
  EXPECT_ERROR(
      find_admin({.data_dir = {}, .admin_url = "https://b", .ca_file = {}, .token_file = directory_ / "empty"}),
      ErrorCode::invalid_argument, "is empty");
  EXPECT_ERROR(find_admin({.data_dir = {},
                           .admin_url = "https://b",
                           .ca_file = directory_ / "no.pem",
                           .token_file = directory_ / "token"}),
               ErrorCode::not_found, "CA file");
  put("endpoints.json", "{}");
  EXPECT_ERROR(find_admin({.data_dir = directory_.path(), .admin_url = {}, .ca_file = {}, .token_file = {}}),
               ErrorCode::malformed, "another version");
}

json round(uint64_t number, uint32_t attempt, const char* state) {
  return {{"number", number}, {"attempt", attempt}, {"state", state},
          {"goal_count", 5},  {"selected", 5},      {"accepted", 4}};
}

TEST(ParseRounds, ReadsNumbersAndLeavesOutWhatIsNull) {
  json done = round(3, 1, "done");
  done.update({{"seconds", 0.5},
               {"train_loss", nullptr},
               {"model", {{"version", 3}, {"evaluation_loss", nullptr}, {"evaluation_accuracy", 0.9}}}});
  const auto page = parse_rounds({{"state", "running"}, {"rounds", {done}}, {"next_before", "3.1"}});
  ASSERT_OK(page);
  EXPECT_EQ(page->job_state, "running");
  EXPECT_EQ(page->next_before, "3.1");
  EXPECT_EQ(page->rounds[0].model_version, 3u);
  EXPECT_EQ(page->rounds[0].train_loss, std::nullopt);
  EXPECT_EQ(page->rounds[0].evaluation_loss, std::nullopt);
  EXPECT_EQ(page->rounds[0].evaluation_accuracy, 0.9);
}

TEST(ParseRounds, ReadsWhatEachHeadCameTo) {
  json done = round(3, 1, "done");
  done["model"] = {
      {"version", 3},
      {"evaluation_heads",
       {{{"output", "class"}, {"loss", 0.5}, {"accuracy", 0.25}}, {{"output", "age"}, {"loss", nullptr}}}}};
  const auto page = parse_rounds({{"state", "running"}, {"rounds", {done, round(2, 1, "done")}}});
  ASSERT_OK(page);
  EXPECT_EQ(page->rounds[0].evaluation_heads,
            (std::vector<EvaluatedHead>{{.output = "class", .loss = 0.5, .accuracy = 0.25}, {.output = "age"}}));
  EXPECT_TRUE(page->rounds[1].evaluation_heads.empty());
  done["model"]["evaluation_heads"][0].erase("output");
  EXPECT_ERROR(parse_rounds({{"state", "running"}, {"rounds", {done}}}), ErrorCode::malformed, "not what was expected");
}

TEST(ParseRounds, ReadsWhatDevicesFound) {
  json done = round(3, 1, "done");
  const json hits = {{{"check", "dead_relu"}, {"layer", "conv1"}, {"share", 0.25}},
                     {{"check", "label_drift"}, {"share", 1}}};
  done["model"] = {{"version", 3}, {"watch", {{"looked", 0.5}, {"hits", hits}}}};
  const auto page = parse_rounds({{"state", "running"}, {"rounds", {done, round(2, 1, "done")}}});
  ASSERT_OK(page);
  EXPECT_EQ(page->rounds[0].watch,
            (WatchOutcome{.looked = 0.5, .hits = {{"dead_relu", "conv1", 0.25}, {"label_drift", "", 1}}}));
  EXPECT_FALSE(page->rounds[1].watch);
  json noisy = done;
  noisy["model"]["watch"]["error"] = 0.125;
  EXPECT_EQ(parse_rounds({{"state", "running"}, {"rounds", {noisy}}})->rounds[0].watch->error, 0.125);
  done["model"]["watch"]["hits"] = 3;
  EXPECT_ERROR(parse_rounds({{"state", "running"}, {"rounds", {done}}}), ErrorCode::malformed, "not what was expected");
}

TEST(ParseRounds, RefusesAnAnswerOfAnotherShape) {
  for (const json& answer :
       {json(), json::array(), json{{"state", "running"}}, json{{"state", 1}, {"rounds", json::array()}},
        json{{"state", "running"}, {"rounds", {{{"number", "x"}}}}}}) {
    EXPECT_ERROR(parse_rounds(answer), ErrorCode::malformed, "not what was expected") << answer;
  }
}

RoundReport report(uint64_t number, uint32_t attempt, const char* state) {
  return parse_rounds({{"state", "running"}, {"rounds", {round(number, attempt, state)}}})->rounds[0];
}

std::vector<std::string> told(const std::vector<RoundReport>& news) {
  std::vector<std::string> names;
  for (const RoundReport& round : news)
    names.push_back(std::to_string(round.number) + "." + std::to_string(round.attempt));
  return names;
}

TEST(RoundLedger, TellsEachEndedAttemptOnceOldestFirst) {
  RoundLedger ledger;
  EXPECT_THAT(told(ledger.take_ended({report(2, 1, "collecting"), report(1, 2, "done"), report(1, 1, "failed")})),
              ElementsAre("1.1", "1.2"));
  EXPECT_THAT(told(ledger.take_ended({report(2, 1, "failed"), report(1, 2, "done"), report(1, 1, "failed")})),
              ElementsAre("2.1"));
  EXPECT_THAT(told(ledger.take_ended({report(2, 2, "selecting"), report(2, 1, "failed"), report(1, 2, "done")})),
              IsEmpty());
  EXPECT_THAT(told(ledger.take_ended({report(3, 1, "done"), report(2, 2, "done"), report(2, 1, "failed")})),
              ElementsAre("2.2", "3.1"));
}

TEST(RoundLedger, AsksForOlderPagesUntilItMeetsWhatItTold) {
  RoundLedger ledger;
  RoundsPage page{.job_state = "running", .rounds = {report(9, 1, "done"), report(8, 1, "done")}, .next_before = "8.1"};
  EXPECT_FALSE(ledger.reaches_back(page));
  ledger.take_ended({report(7, 1, "done")});
  EXPECT_TRUE(ledger.reaches_back(page));
  page.next_before.reset();
  EXPECT_TRUE(RoundLedger().reaches_back(page));
  EXPECT_TRUE(RoundLedger().reaches_back({}));
}

}  // namespace
}  // namespace coterie
