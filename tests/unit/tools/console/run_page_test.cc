// What the console's page is answered over a folder of runs.
#include "tools/console/run_page.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/model_builder.h"
#include "fl_server/net/http_types.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tools/compare/sweep_folder.h"
#include "tools/console/run_explanations.h"
#include "tools/console/run_list.h"
#include "tools/explain/explanation_record.h"

namespace coterie {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RunPageTest : public ::testing::Test {
 protected:
  void write(const std::string& at, std::string_view text) {
    fs::create_directories(fs::path(directory_ / at).parent_path());
    ASSERT_OK(os::write_file_atomically(directory_ / at, as_bytes(text)));
  }
  HttpResponse ask(const std::string& path, const std::string& host = "127.0.0.1:8600",
                   const std::string& method = "GET", const std::string& query = "limit=500") {
    const RunPage page(FolderFiles::open(directory_ / "runs").value());
    RequestHead head{
        .method = method, .path = path, .query = query, .target = path + "?" + query, .headers = {{"host", host}}};
    return page.answer(head);
  }
  json get(const std::string& path, const std::string& query = "limit=500") {
    const HttpResponse answer = ask(path, "127.0.0.1:8600", "GET", query);
    EXPECT_EQ(answer.status, 200) << as_text(answer.body);
    return json::parse(as_text(answer.body));
  }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    const json answer = get("/admin/v1/jobs");
    for (const json& job : answer["jobs"])
      all.push_back(job["spec"]["name"].get<std::string>() + " " + job["state"].get<std::string>());
    return all;
  }

  test::TemporaryDirectory directory_{test::memory_disk()};
};

TEST_F(RunPageTest, ListsEachRunAndTellsItsRoundsNewestFirst) {
  write("runs/one/summary.json", R"({"seed": 1})");
  write("runs/one/metrics.csv", "round,accepted\n1,5\n2,6\n");
  write("runs/two/metrics.csv", "round\n");
  write("runs/notes/readme.txt", "no run");
  EXPECT_THAT(names(), ElementsAre("one completed", "two unfinished"));
  const std::string path = "/admin/v1/jobs/" + run_id("one");
  EXPECT_EQ(get(path)["rounds_done"], 2);
  const json rounds = get(path + "/rounds")["rounds"];
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[0]["number"], 2);
  EXPECT_EQ(rounds[0]["accepted"], 6);
  EXPECT_EQ(ask("/admin/v1/jobs/" + run_id("three")).status, 404);
}

TEST_F(RunPageTest, TellsRoundsByPagesAndTheirCurvesAsPoints) {
  std::string csv = "round,attempts,accepted,evaluation_loss\n";
  for (int i = 1; i <= 300; ++i)
    csv += std::to_string(i) + "," + (i == 300 ? "x" : "1") + "," + std::to_string(i == 77 ? 5000 : i) + ",\n";
  write("runs/one/metrics.csv", csv + "4,1,1,1\n");  // behind round 300, as only a damaged file has it
  const std::string path = "/admin/v1/jobs/" + run_id("one");
  const json first = get(path + "/rounds", "limit=2"), next = get(path + "/rounds", "before=300.null&limit=2");
  EXPECT_EQ(first["rounds"][1]["number"], 300);
  EXPECT_EQ(first["next_before"], "300.null");
  EXPECT_EQ(next["rounds"][1]["number"], 299);
  EXPECT_FALSE(get(path + "/rounds").contains("next_before"));
  EXPECT_EQ(get(path + "/rounds", "state=done&limit=1000")["rounds"].size(), 301u);
  EXPECT_EQ(get(path + "/rounds", "state=failed")["rounds"], json::array());
  const json thin = get(path + "/curves", "points=31");
  EXPECT_EQ(thin["rounds"], 300);
  EXPECT_EQ(thin["exact"], false);
  EXPECT_EQ(thin["round"].size(), 31u);
  EXPECT_THAT(thin["columns"]["accepted"], ::testing::Contains(5000));
  EXPECT_EQ(thin["sums"], json({{"accepted", 300 * 301 / 2 - 77 + 5000}}));
  EXPECT_EQ(thin["columns"].size(), 1u) << "no column of gaps: " << thin["columns"];
  const json whole = get(path + "/curves", "points=100000");
  EXPECT_EQ(whole["exact"], true);
  EXPECT_EQ(whole["columns"]["accepted"][299], 300);
  for (const char* wrong : {"points=2", "points=100001", "points=x"})
    EXPECT_EQ(ask(path + "/curves", "localhost", "GET", wrong).status, 400) << wrong;
  EXPECT_EQ(ask(path + "/rounds", "localhost", "GET", "before=x").status, 400);
}

TEST_F(RunPageTest, TakesAFolderThatIsItselfARunOrHasJustBegun) {
  fs::create_directories(directory_ / "runs");
  EXPECT_THAT(names(), ElementsAre("runs unfinished"));
  write("runs/summary.json", R"({"seed": 1})");
  write("runs/metrics.csv", "round\n1\n");
  EXPECT_THAT(names(), ElementsAre("runs completed"));
}

TEST_F(RunPageTest, ListsAllRunsOfASweepAlsoThoseToCome) {
  write("runs/sweep.json", sweep_json({.variants = {"rate=0.1", "<b>"}, .seeds = {7}, .request_digest = "d"}));
  write("runs/01/seed-7/summary.json", "{}");
  write("runs/01/seed-7/metrics.csv", "round\n1\n");
  EXPECT_THAT(names(), ElementsAre("rate=0.1, seed 7 completed", "<b>, seed 7 waiting"));
  EXPECT_EQ(get("/admin/v1/jobs/" + run_id("01/seed-7"))["spec"]["variant"], "rate=0.1");
  write("runs/sweep.json", "{");
  const json broken = get("/admin/v1/jobs");
  EXPECT_THAT(broken["problem"], HasSubstr("sweep.json"));
}

TEST_F(RunPageTest, TellsWhatTheModelOfARunIsMadeOf) {
  ModelBuilder build("small", {2}, 1);
  const Bytes model = build.finish(build.dense(build.input(), 3)).value();
  write("runs/one/metrics.csv", "round,accepted\n1,5\n2,6\n");
  const std::string path = "/admin/v1/jobs/" + run_id("one");
  EXPECT_FALSE(get(path).contains("model"));
  EXPECT_EQ(ask(path + "/models/2").status, 404) << "it is written at the end";
  write("runs/one/model.cotf", as_text(model));
  EXPECT_EQ(get(path)["model"]["version"], 2);
  EXPECT_EQ(get(path + "/models/2")["bytes"], model.size());
  EXPECT_EQ(get(path + "/models/2/graph")["ops"][0]["kind"], "dense");
  EXPECT_EQ(get(path + "/models/2/parameters")["parameters"][1]["zeros"], 3);
  for (const char* other : {"/models/1", "/models/02", "/models/2/content", "/models/x/graph"}) {
    EXPECT_EQ(ask(path + other).status, 404) << other;
  }
  write("runs/one/model.cotf", as_text(model).substr(0, model.size() - 1));
  const HttpResponse broken = ask(path + "/models/2/graph");
  EXPECT_EQ(broken.status, 400);
  EXPECT_THAT(as_text(broken.body), HasSubstr("one/model.cotf is not a whole model"));
}

// A picture of `side` x `side` pixels, as far as anybody looks.
std::string png(uint32_t side) {
  std::string bytes("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
  for (int copy = 0; copy < 2; ++copy) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(side >> shift & 0xff);
  }
  return bytes + "the rest";
}

TEST_F(RunPageTest, ShowsExplanationsAndTakesNothingElseForOne) {
  write("runs/one/metrics.csv", "round\n1\n");
  write("runs/one/model.cotf", "model");
  const std::string own =
      to_json(ExplanationRecord{.method = "gradient", .data = "<b>", .example = 7, .label = 3}).dump();
  const auto put = [&](const std::string& name, const std::string& text, const std::string& picture) {
    write("runs/one/explanations/" + name + ".json", text);
    write("runs/one/explanations/" + name + ".png", picture);
  };
  const std::string path = "/admin/v1/jobs/" + run_id("one") + "/models/1/explanations";
  EXPECT_EQ(get(path), json({{"explanations", json::array()}, {"left_out", 0}}));
  put("gradient-7-3", own, png(456));
  put("no-picture", own, "<svg onload=alert(1)>");
  put("huge", own, png(kShownPictureSideMax + 1));
  put("Other Name", own, png(1));
  put("no-json", "{", png(1));
  put("foreign", R"({"schema": "coterie.explanation.v1", "picture": "/etc/passwd"})", png(1));
  write("elsewhere/secret.png", png(1));
  write("runs/one/explanations/linked.json", own);
  fs::create_symlink(directory_ / "elsewhere/secret.png", directory_ / "runs/one/explanations/linked.png");
  const json told = get(path);
  EXPECT_EQ(told["left_out"], 6);
  ASSERT_EQ(told["explanations"].size(), 1u);
  const json& one = told["explanations"][0];
  EXPECT_EQ(one["name"], "gradient-7-3");
  EXPECT_EQ(one["data"], "<b>");
  EXPECT_EQ(one["label"], 3);
  EXPECT_EQ(one["width"], 456);
  const HttpResponse picture = ask(path + "/gradient-7-3");
  EXPECT_EQ(picture.status, 200);
  EXPECT_EQ(picture.content_type, "image/png");
  EXPECT_THAT(picture.headers, ::testing::Contains(::testing::Pair("X-Content-Type-Options", "nosniff")));
  EXPECT_EQ(as_text(picture.body), png(456));
  for (const char* none : {"no-picture", "huge", "linked", "Other Name", "..", "gradient-7-3.png", "nowhere"})
    EXPECT_EQ(ask(path + "/" + none).status, 404) << none;
  for (int i = 0; i < 70; ++i) put("a" + std::to_string(i), own, png(1));
  EXPECT_EQ(get(path)["explanations"].size(), kExplanationsShownMax);
  EXPECT_EQ(get(path)["left_out"], 6 + 70 + 1 - static_cast<int>(kExplanationsShownMax));
}

TEST_F(RunPageTest, ReadsNoModelThroughALink) {
  write("elsewhere/model.cotf", "secret");
  write("runs/one/metrics.csv", "round\n1\n");
  fs::create_symlink(directory_ / "elsewhere/model.cotf", directory_ / "runs/one/model.cotf");
  EXPECT_EQ(ask("/admin/v1/jobs/" + run_id("one") + "/models/1").status, 404);
}

TEST_F(RunPageTest, ReadsOnlyAndForThisMachineAlone) {
  write("runs/metrics.csv", "round\n");
  EXPECT_EQ(ask("/admin/v1/jobs", "localhost").status, 200);
  for (const char* host : {"evil.example", "evil.example:8600", "127.0.0.1.evil.example", ""}) {
    EXPECT_EQ(ask("/admin/v1/jobs", host).status, 403) << host;
  }
  for (const char* method : {"POST", "PUT", "DELETE"})
    EXPECT_EQ(ask("/admin/v1/jobs", "localhost", method).status, 405);
  for (const char* path : {"/metrics.csv", "/admin/v1/jobs/..", "/admin/v1/jobs/.", "/admin/v1/server", "/runs"}) {
    EXPECT_EQ(ask(path).status, 404) << path;
  }
  EXPECT_EQ(get("/console/sign-in-ways")["runs"]["folder"], "runs");
}

TEST_F(RunPageTest, AnswersInJsonWhateverTheNamesAre) {
  write("runs/\xff<b>\n/metrics.csv", "round\n");
  EXPECT_THAT(get("/admin/v1/jobs")["jobs"][0]["spec"]["name"], HasSubstr("<b>\n"));
}

}  // namespace
}  // namespace coterie
