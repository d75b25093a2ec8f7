// Runs told to a tracking server of MLflow: tests/doubles/mlflow_server.py keeps its limits, and goes wrong by its
// path.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/python_double.h"
#include "tests/support/temporary_directory.h"
#include "tools/mlflow/mlflow_run.h"
#include "tools/tensorboard/scalar_log.h"

namespace coterie {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(MlflowJson, KeysAreThoseThatServersTake) {
  EXPECT_EQ(mlflow_key("train/loss"), "train/loss");
  EXPECT_EQ(mlflow_key("a=b\"\n\xff"), "a_b___");
  EXPECT_THAT(mlflow_key(std::string(300, 'k')), SizeIs(kMlflowKeyBytesMax));
}

TEST(MlflowJson, LeavesOutWhatIsNoNumberAndCutsLongValues) {
  const WallTime time = wall_time_from_unix_ms(1'750'000'000'123);
  const std::vector<MlflowMetric> metrics = {{"loss", 0.5, time, 7}, {"nan", std::nan(""), time, 7}};
  EXPECT_EQ(json::parse(mlflow_log_batch("r", metrics, {{"p", std::string(600, 'v')}})),
            (json{{"run_id", "r"},
                  {"metrics", {{{"key", "loss"}, {"value", 0.5}, {"timestamp", 1'750'000'000'123}, {"step", 7}}}},
                  {"params", {{{"key", "p"}, {"value", std::string(500, 'v')}}}}}));
}

TEST(MlflowJson, TakesNoIdThatIsNone) {
  EXPECT_EQ(*mlflow_text_at(R"({"run": {"info": {"run_id": "r1"}}})", "/run/info/run_id"), "r1");
  for (const char* answer : {"", "<html>", "[]", "{}", R"({"run": 1})", R"({"run": {"info": {"run_id": ""}}})",
                             R"({"run": {"info": {"run_id": 1}}})"}) {
    EXPECT_ERROR(mlflow_text_at(answer, "/run/info/run_id"), ErrorCode::malformed, "MLflow") << answer;
  }
}

TEST(MlflowJson, SendsFilesByTheServersProxyAlone) {
  EXPECT_EQ(mlflow_artifact_path("mlflow-artifacts:/1/ab12/artifacts"), "1/ab12/artifacts");
  for (const char* uri : {"", "file:///mlruns/1", "s3://bucket/1", "mlflow-artifacts:/", "mlflow-artifacts:1/a",
                          "mlflow-artifacts://elsewhere/1/a", "mlflow-artifacts:/../a", "mlflow-artifacts:/1//a",
                          "mlflow-artifacts:/1/a/", "mlflow-artifacts:/1/a?b", "mlflow-artifacts:/1/a%2f..",
                          "mlflow-artifacts:/1/a\r\nb"}) {
    EXPECT_EQ(mlflow_artifact_path(uri), std::nullopt) << uri;
  }
}

TEST(MlflowServerUrl, IsHttpsOrThisMachine) {
  EXPECT_EQ(mlflow_server("http://127.0.0.1:5000/")->url, "http://127.0.0.1:5000");
  EXPECT_OK(mlflow_server("https://mlflow.example.org"));
  for (const char* url : {"http://mlflow.example.org", "127.0.0.1:5000", "file:///tmp", "http://localhost.evil/", ""}) {
    EXPECT_ERROR(mlflow_server(url), ErrorCode::invalid_argument, "https://") << url;
  }
}

class MlflowRunTest : public testing::Test {
 protected:
  MlflowServer server(const std::string& wrong = {}) {
    return {.url = "http://127.0.0.1:" + double_.port() + wrong,
            .experiment = "exp 1",
            .token = "t-1",
            .user = {},
            .password = {},
            .ca_file = {}};
  }
  std::shared_ptr<MlflowRun> begin(MlflowServer server, const MlflowParams& params = {{"epochs", "3"}}) {
    return std::make_shared<MlflowRun>(std::move(server), "a run", params,
                                       [this](const std::string& sentence) { said_.push_back(sentence); });
  }
  json line() { return json::parse(double_.line(), nullptr, false); }
  // Requests up to one to this path, whose own is the last.
  std::vector<json> until(const std::string& path) {
    std::vector<json> all;
    do all.push_back(line());
    while (all.back()["path"] != path);
    return all;
  }

  // A file that a run leaves; its path.
  std::string file(const std::string& name, std::string_view text) {
    EXPECT_OK(os::write_file_atomically(directory_ / name, as_bytes(text)));
    return directory_ / name;
  }

  static size_t count_of(const json& of) { return of.is_number() ? of.get<size_t>() : of.size(); }

  test::TemporaryDirectory directory_{test::memory_disk()};
  std::vector<std::string> said_;
  test::PythonDouble double_{"tests/doubles/mlflow_server.py", {}};
};

TEST_F(MlflowRunTest, HasParametersMetricsByStepAndAnEnd) {
  std::shared_ptr<MlflowRun> run = begin(server());
  Result<ScalarLog> log = ScalarLog::create("");  // no event file: the run hears all the same
  ASSERT_OK(log);
  log->tell(run);
  log->note("train/loss", 0.5);
  log->note("train/accuracy", 0.75);
  ASSERT_OK(log->add(10));
  log->note("train/loss", 0.25);
  ASSERT_OK(log->add(20));
  log->finished();
  *log = ScalarLog();
  run.reset();
  const std::vector<json> all = until("runs/update");
  EXPECT_EQ(all[0]["path"], "experiments/get-by-name");
  EXPECT_EQ(all[0]["status"], 404);
  EXPECT_EQ(all[1]["body"], (json{{"name", "exp 1"}}));
  EXPECT_EQ(all[2]["body"]["run_name"], "a run");
  json metrics = json::array(), params = json::array();
  for (const json& request : all) {
    EXPECT_EQ(request["authorization"], "Bearer t-1");
    if (request["path"] != "runs/log-batch") continue;
    EXPECT_EQ(request["status"], 200) << request;
    for (const json& one : request["body"]["metrics"]) metrics.push_back({one["key"], one["value"], one["step"]});
    for (const json& one : request["body"]["params"]) params.push_back({one["key"], one["value"]});
  }
  EXPECT_EQ(metrics, (json{{"train/loss", 0.5, 10}, {"train/accuracy", 0.75, 10}, {"train/loss", 0.25, 20}}));
  EXPECT_EQ(params, (json::array({json::array({"epochs", "3"})})));
  EXPECT_EQ(all.back()["body"]["status"], "FINISHED");
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(MlflowRunTest, KeepsTheServersLimits) {
  MlflowParams params;
  for (int i = 0; i < 150; ++i) params.emplace_back("p" + std::to_string(i), "v");
  std::shared_ptr<MlflowRun> run = begin(server(), params);
  const std::vector<Scalar> scalars(2'500, Scalar{"loss", 1});
  run->take(os::wall_now(), 1, scalars);
  run.reset();
  size_t metrics = 0, sent = 0;
  for (const json& request : until("runs/update")) {
    if (request["path"] != "runs/log-batch") continue;
    EXPECT_EQ(request["status"], 200) << request.dump().substr(0, 200);
    metrics += count_of(request["body"]["metrics"]);
    sent += count_of(request["body"]["params"]);
  }
  EXPECT_EQ(metrics, 2'500u);
  EXPECT_EQ(sent, 150u);
}

TEST_F(MlflowRunTest, IsFailedWhereNobodySaysThatItIsOver) {
  begin(server()).reset();
  EXPECT_EQ(until("runs/update").back()["body"]["status"], "FAILED");
}

TEST_F(MlflowRunTest, SendsTheFilesThatItLeft) {
  std::shared_ptr<MlflowRun> run = begin(server());
  run->take_file(file("a chart.svg", "<svg/>"));
  run->take_file(file("empty", ""));
  run->finished();
  run.reset();
  json files = json::array();
  for (const json& request : until("runs/update")) {
    if (!request["path"].get<std::string>().starts_with("artifacts/")) continue;
    EXPECT_EQ(request["authorization"], "Bearer t-1");
    files.push_back({request["path"], request["body"], request["status"]});
  }
  EXPECT_EQ(files, (json{{"artifacts/1/run-1/artifacts/a%20chart.svg", "3c7376672f3e", 200},
                         {"artifacts/1/run-1/artifacts/empty", "", 200}}));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(MlflowRunTest, EndsAsItShouldAlsoWhereAFileIsNotTaken) {
  for (const char* wrong : {"/small", "/local", "/broken"}) {
    said_.clear();
    std::shared_ptr<MlflowRun> run = begin(server(wrong));
    run->take_file(file("model.cotf", "COTF"));
    run->take_file(file("chart.svg", "<svg/>"));
    run->finished();
    run.reset();
    EXPECT_EQ(until("runs/update").back()["body"]["status"], "FINISHED");
    EXPECT_THAT(said_, ElementsAre(HasSubstr("model.cotf was not sent"))) << "once";
  }
}

TEST_F(MlflowRunTest, SendsNoFileThatIsTooLargeOrGone) {
  std::shared_ptr<MlflowRun> run = begin(server());
  const std::string large = file("large", "");
  std::filesystem::resize_file(large, MlflowRun::kFileBytesMax + 1);
  run->take_file(large);
  run->take_file(directory_ / "gone");
  for (size_t i = 0; i < 2 * MlflowRun::kFilesMax; ++i) run->take_file(large);
  run.reset();
  for (const json& request : until("runs/update"))
    EXPECT_FALSE(request["path"].get<std::string>().starts_with("artifacts/"));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("large was not sent")));
}

TEST_F(MlflowRunTest, SaysOnceThatAServerRefusesAndGoesOn) {
  std::shared_ptr<MlflowRun> run = begin(server("/refusing"));
  EXPECT_EQ(line()["status"], 403);
  for (uint64_t step = 0; step < 100; ++step) run->take(os::wall_now(), step, std::vector<Scalar>{{"loss", 1}});
  run.reset();
  ASSERT_THAT(said_, SizeIs(1));
  EXPECT_THAT(said_[0], HasSubstr("403"));
}

TEST_F(MlflowRunTest, SaysThatAnAnswerIsNone) {
  begin(server("/strange")).reset();
  EXPECT_THAT(said_, ElementsAre(HasSubstr("is this an MLflow server?")));
}

TEST_F(MlflowRunTest, HoldsUpNothingWhereNobodyListens) {
  MlflowServer nobody = server();
  nobody.url = "http://127.0.0.1:1";
  begin(std::move(nobody)).reset();
  EXPECT_THAT(said_, ElementsAre(HasSubstr("127.0.0.1:1")));
}

}  // namespace
}  // namespace coterie
