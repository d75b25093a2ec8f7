// What operators get to see: problem documents, records as JSON, times, query parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/record_json.h"

#include "fl_server/admin_api/problem.h"
#include "proto/messages/cosine_buckets.h"
#include "proto/messages/norm_buckets.h"

namespace coterie {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

json body_of(const HttpResponse& response) { return json::parse(as_text(response.body)); }
WallTime wall(int64_t ms) { return wall_time_from_unix_ms(ms); }

TEST(ProblemResponse, SaysWhatRfc9457AsksFor) {
  for (const ErrorTraits& row : all_error_traits()) {
    const HttpResponse response = problem_response(Error(row.code, "a sentence"));
    EXPECT_EQ(response.content_type, "application/problem+json");
    EXPECT_EQ(response.status, row.http_status);
    EXPECT_EQ(body_of(response), (json{{"type", "urn:coterie:error:" + std::string(row.name)},
                                       {"title", row.title},
                                       {"status", row.http_status},
                                       {"code", row.name},
                                       {"detail", "a sentence"}}));
  }
}

TEST(ProblemResponse, ListsEveryProblem) {
  const HttpResponse response =
      problem_response(Error(ErrorCode::invalid_argument, "no"), {{"/name", "is required"}, {"/a~1b", "unknown key"}});
  EXPECT_EQ(body_of(response)["errors"], (json::array({{{"pointer", "/name"}, {"detail", "is required"}},
                                                       {{"pointer", "/a~1b"}, {"detail", "unknown key"}}})));
}

TEST(ProblemResponse, HasTheStatusOfItsAnswer) {
  const HttpResponse response = problem_response(Error(ErrorCode::too_large, "the head"), {}, 431);
  EXPECT_EQ(response.status, 431);
  EXPECT_EQ(body_of(response)["status"], 431);
}

TEST(ProblemResponse, TellsWhoMustAuthenticateHow) {
  EXPECT_THAT(problem_response(Error(ErrorCode::unauthenticated, "who?")).headers,
              ElementsAre(Pair("WWW-Authenticate", "Bearer")));
  EXPECT_THAT(problem_response(Error(ErrorCode::permission_denied, "no")).headers, IsEmpty());
  EXPECT_THAT(problem_response(Error(ErrorCode::rate_limited, "later")).headers,
              ElementsAre(Pair("Retry-After", testing::Not(testing::IsEmpty()))));
}

// A device chooses its SDK version, a model file its name: neither may stop the server from answering.
TEST(JsonResponse, IsJsonWhateverBytesATextHas) {
  DeviceRecord device;
  device.sdk_version = "1.0\xff\xc0\xaf\"\n";
  const HttpResponse response = json_response(to_json(device), 201);
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(response.body.back(), '\n');
  EXPECT_EQ(body_of(response)["sdk_version"], "1.0\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n");
  const HttpResponse problem = problem_response(Error(ErrorCode::not_found, "no such \xfe"), {{"/\xfe", "\xfe"}});
  EXPECT_EQ(body_of(problem)["detail"], "no such \xef\xbf\xbd");
}

// ---- Records

TEST(AdminJson, ShowsARoundUnderWayWithItsLiveCounts) {
  RoundRecord round;
  round.key = {RoundId(7), Attempt(2)};
  round.number = 3;
  round.state = RoundState::collecting;
  round.base = ModelVersion(2);
  round.selected = 4;
  round.opened = wall(1'000);
  EXPECT_EQ(to_json(round, 10, 12, 5, nullptr), (json{{"number", 3},
                                                      {"round", 7},
                                                      {"attempt", 2},
                                                      {"state", "collecting"},
                                                      {"base_version", 2},
                                                      {"goal_count", 10},
                                                      {"selected", 12},
                                                      {"accepted", 5},
                                                      {"opened", "1970-01-01T00:00:01.000Z"}}));
}

TEST(AdminJson, ShowsWhatARoundThatIsDoneAmountedTo) {
  RoundRecord round;
  round.state = RoundState::done;
  round.opened = wall(1'000);
  round.closed = wall(3'500);
  round.totals = {.updates = 8, .weight = 80, .examples = 100, .loss_sum = 50, .correct = 25, .train_ms = 1'500};
  ModelRecord model;
  model.version = ModelVersion(3);
  model.evaluation_accuracy = 0.5;
  const json shown = to_json(round, 10, 0, 0, &model);
  EXPECT_EQ(shown["accepted"], 8) << "the totals', not the live count";
  EXPECT_EQ(shown["seconds"], 2.5);
  EXPECT_EQ(shown["weight"], 80);
  EXPECT_EQ(shown["train_seconds"], 1.5);
  EXPECT_EQ(shown["train_loss"], 0.5);
  EXPECT_EQ(shown["train_accuracy"], 0.25);
  EXPECT_EQ(shown["model"]["version"], 3);
  EXPECT_EQ(shown["model"]["evaluation_accuracy"], 0.5);
  EXPECT_FALSE(shown["model"].contains("evaluation_loss"));
  round.totals = {};
  EXPECT_FALSE(to_json(round, 10, 0, 0, nullptr).contains("train_loss")) << "no mean of nothing";
}

TEST(AdminJson, HasTheSameInCurvesAsInARound) {
  JobRecord job;
  RoundRecord round;
  round.number = 3;
  round.state = RoundState::done;
  round.opened = wall(1'000);
  round.closed = wall(3'500);
  round.totals = {.updates = 8, .weight = 80, .examples = 100, .loss_sum = 50, .correct = 25, .train_ms = 1'500};
  ModelRecord model;
  model.evaluation_loss = 0.25;
  model.watch = WatchOutcome{.looked = 1, .hits = {{"dead_relu", "a", 0.25}, {"dead_relu", "b", 0.75}}};
  NormHistogram& norms = model.update_norms.emplace();
  norms.counts[norm_bucket(1)] = 8;
  norms.counts[norm_bucket(1.5)] = 2;
  CosineHistogram& cosines = model.update_cosines.emplace();
  cosines.counts[cosine_bucket(0.9)] = 9;
  cosines.counts[cosine_bucket(-1)] = 1;
  const json row = to_json(round, 10, 0, 0, &model);
  RoundCurves curves;
  add_to(curves, round, job, &model);
  const json told = to_json(curves, kCurvePointsDefault);
  EXPECT_EQ(told["round"], json::array({3}));
  for (const char* name : {"accepted", "seconds", "train_seconds", "train_loss", "train_accuracy"})
    EXPECT_EQ(told["columns"][name], json::array({row[name]})) << name;
  EXPECT_EQ(told["columns"]["evaluation_loss"], json::array({row["model"]["evaluation_loss"]}));
  EXPECT_EQ(told["columns"]["watch.dead_relu"], json::array({0.75}));
  for (const char* name : {"p10", "p50", "p90"}) {
    EXPECT_FLOAT_EQ(told["columns"][std::string("update_norm_") + name][0], row["model"]["update_norms"][name]) << name;
    EXPECT_FLOAT_EQ(told["columns"][std::string("update_cosine_") + name][0], row["model"]["update_cosines"][name])
        << name;
  }
  EXPECT_FALSE(told["columns"].contains("evaluation_accuracy")) << "nobody evaluated it";
  HorizontalSettings settings;
  settings.training.target = TargetKind::values;
  job.spec.kind = settings;
  round.totals = {};
  add_to(curves, round, job, nullptr);
  EXPECT_EQ(to_json(curves, kCurvePointsDefault)["columns"]["train_loss"], json::array({0.5, nullptr}));
}

TEST(AdminJson, ShowsWhatEachHeadHasComeToAndItsCurves) {
  ModelRecord model;
  EXPECT_FALSE(to_json(model).contains("evaluation_heads"));
  model.evaluation_heads = {{.output = "class", .loss = 0.25, .accuracy = 0.75},
                            {.output = "age", .loss = 2, .mae = 1.5},
                            {.output = "none"}};
  EXPECT_EQ(to_json(model)["evaluation_heads"], json::parse(R"([{"output": "class", "loss": 0.25, "accuracy": 0.75},
                            {"output": "age", "loss": 2.0, "mae": 1.5}, {"output": "none"}])"));
  RoundCurves curves;
  add_to(curves, RoundRecord(), JobRecord(), &model);
  json columns = to_json(curves, kCurvePointsDefault)["columns"];
  columns.erase("accepted");
  columns.erase("seconds");
  columns.erase("train_seconds");
  EXPECT_EQ(columns, json::parse(R"({"evaluation_loss.class": [0.25], "evaluation_accuracy.class": [0.75],
                                     "evaluation_loss.age": [2.0], "evaluation_mae.age": [1.5]})"));
}

TEST(AdminJson, ShowsHowLongUpdatesAreFromTheFirstBucketThatHasAnyToTheLast) {
  ModelRecord model;
  EXPECT_FALSE(to_json(model).contains("update_norms"));
  NormHistogram& norms = model.update_norms.emplace();
  norms.counts[norm_bucket(1)] = 3;
  norms.counts[norm_bucket(2)] = 1;
  const json shown = to_json(model)["update_norms"];
  EXPECT_EQ(shown["updates"], 4);
  EXPECT_EQ(shown["edges"], json::parse("[1.0, 1.4142135, 2.0, 2.828427]"));
  EXPECT_EQ(shown["counts"], json::array({3, 0, 1}));
  EXPECT_EQ(shown["p50"], 1.2599211);  // 2^(1/3)
  norms = {};
  norms.counts.front() = norms.counts.back() = 1;
  const json ends = to_json(model)["update_norms"];
  EXPECT_EQ(ends["edges"].front(), 0.0);
  EXPECT_EQ(ends["edges"].back(), nullptr) << "the last bucket has no end";
  EXPECT_EQ(ends["edges"].size(), 65u);
  EXPECT_EQ(ends["counts"].size(), 64u);
}

TEST(AdminJson, ShowsHowUpdatesLieToTheStepInAllBuckets) {
  ModelRecord model;
  EXPECT_FALSE(to_json(model).contains("update_cosines"));
  CosineHistogram& cosines = model.update_cosines.emplace();
  cosines.undirected = 2;
  const json still = to_json(model)["update_cosines"];
  EXPECT_EQ(still["updates"], 2);
  EXPECT_EQ(still["undirected"], 2);
  EXPECT_FALSE(still.contains("p50")) << "nobody has a cosine";
  RoundRecord round;
  JobRecord job;
  RoundCurves curves;
  add_to(curves, round, job, &model);
  EXPECT_FALSE(to_json(curves, kCurvePointsDefault)["columns"].contains("update_cosine_p50"));
  cosines.counts.front() = 1;
  cosines.counts.back() = 4;
  const json shown = to_json(model)["update_cosines"];
  EXPECT_EQ(shown["updates"], 7);
  EXPECT_EQ(shown["edges"].size(), 41u);
  EXPECT_EQ(shown["edges"][0], -1.0);
  EXPECT_EQ(shown["edges"][1].dump(), "-0.95");
  EXPECT_EQ(shown["edges"][20], 0.0);
  EXPECT_EQ(shown["edges"][40], 1.0);
  EXPECT_EQ(shown["counts"].size(), 40u);
  EXPECT_EQ(shown["counts"][0], 1);
  EXPECT_EQ(shown["counts"][39], 4);
  EXPECT_EQ(shown["p10"].dump(), "-0.975") << "half of the bucket of one";
  EXPECT_EQ(shown["p50"].dump(), "0.96875") << "of the bucket of four what is left of 2.5";
}

TEST(AdminJson, ShowsOfATokenWhatDoesNotLetAnybodyIn) {
  TokenRecord token;
  token.digest.bytes.fill(0xab);
  token.population = Population("phones");
  token.label = "lab";
  token.uses_left = 3;
  token.expires = wall(2'000);
  token.created = wall(1'000);
  EXPECT_EQ(to_json(token), (json{{"id", "abababababababab"},
                                  {"population", "phones"},
                                  {"label", "lab"},
                                  {"uses_left", 3},
                                  {"expires", "1970-01-01T00:00:02.000Z"},
                                  {"created", "1970-01-01T00:00:01.000Z"}}));
}

TEST(AdminJson, ShowsOfAnAdminTokenWhoMayWhatUntilWhen) {
  const AdminTokenRecord token{"0011223344556677", "grafana",     {Role::operator_, Role::viewer},
                               "$argon2id$",       "admin-token", wall(1'000),
                               wall(2'000)};
  EXPECT_EQ(to_json(token), (json{{"id", "0011223344556677"},
                                  {"label", "grafana"},
                                  {"roles", {"viewer", "operator"}},
                                  {"tenant", "*"},
                                  {"created_by", "admin-token"},
                                  {"created", "1970-01-01T00:00:01.000Z"},
                                  {"expires", "1970-01-01T00:00:02.000Z"}}));
}

TEST(AdminJson, ShowsAReasonAndARevocationOnlyIfThereIsOne) {
  JobRecord job;
  job.id = JobId("j1");
  EXPECT_FALSE(to_json(job).contains("reason"));
  job.reason = "no devices";
  EXPECT_EQ(to_json(job)["reason"], "no devices");
  DeviceRecord device;
  EXPECT_FALSE(to_json(device).contains("revoked"));
  device.revoked = wall(1);
  EXPECT_EQ(to_json(device)["revoked"], "1970-01-01T00:00:00.001Z");
}

TEST(AdminJson, ShowsTheRatesOfTheRoundIfTheyChange) {
  JobRecord job;
  HorizontalSettings& settings = job.spec.horizontal();
  settings.training.optimizer.learning_rate = 0.1f;
  settings.rounds.count = 4;
  EXPECT_FALSE(to_json(job).contains("rates"));
  settings.schedules.device = {.kind = RateScheduleKind::step, .period = 2, .gamma = 0.5};
  EXPECT_EQ(to_json(job)["rates"],
            nlohmann::json({{"round", 1}, {"learning_rate", 0.1}, {"server_learning_rate", 1.0}}));
  job.rounds_done = 2;
  EXPECT_EQ(to_json(job)["rates"]["learning_rate"], 0.05);
  job.rounds_done = 4;
  EXPECT_EQ(to_json(job)["rates"]["round"], 4) << "the last, when the job is over";
}

// ---- Query parameters

TEST(QueryNumber, IsTheNumberOrTheFallback) {
  Problems problems;
  EXPECT_EQ(query_number({}, "limit", 100, 1, 1000, problems), 100u);
  EXPECT_EQ(query_number({{"limit", "1"}}, "limit", 100, 1, 1000, problems), 1u);
  EXPECT_EQ(query_number({{"limit", "1000"}}, "limit", 100, 1, 1000, problems), 1000u);
  EXPECT_EQ(query_number({{"limit", "18446744073709551615"}}, "limit", 1, 0, UINT64_MAX, problems), UINT64_MAX);
  EXPECT_THAT(problems, IsEmpty());
}

TEST(QueryNumber, NamesTheParameterThatIsWrong) {
  for (const char* text :
       {"", "0", "1001", "-1", "+5", " 5", "5 ", "5.0", "1e2", "0x5", "five", "18446744073709551616"}) {
    Problems problems;
    EXPECT_EQ(query_number({{"limit", text}}, "limit", 100, 1, 1000, problems), 100u) << text;
    EXPECT_THAT(problems, ElementsAre(Problem{"?limit", "must be an integer in [1, 1000]"})) << text;
  }
}

}  // namespace
}  // namespace coterie
