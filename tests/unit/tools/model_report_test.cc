// coterie model report as a command: the page, what is said, and the exit codes.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"
#include "tests/unit/tools/run_command.h"
#include "tests/unit/tools/strict_xml.h"
#include "tests/unit/tools/terminal_width.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

class ModelReportCommand : public ::testing::Test {
 protected:
  // All have the same network, trained once, and 180 examples that it did not see for what needs no more.
  static void SetUpTestSuite() {
    const TemporaryDirectory folder;
    const std::string shares = folder / "shares";
    ASSERT_EQ(run_command({"data", "make", "digits", "--devices", "8", "--held-out", "0.1", "-o", shares}).code,
              ExitCode::ok);
    few_ = *os::read_file(shares + "/held-out.cotf", 1 << 24);
    const std::string made = folder / "new.cotf", trained = folder / "net.cotf";
    ASSERT_EQ(run_command({"model", "new", "cnn", "--input", "8x8x1", "-o", made}).code, ExitCode::ok);
    ASSERT_EQ(run_command({"model", "train", made, "--data", "digits", "--epochs", "1", "--quiet", "-o", trained}).code,
              ExitCode::ok);
    network_ = *os::read_file(trained, 1 << 24);
  }
  void SetUp() override {
    ASSERT_OK(os::write_file_atomically(path("net.cotf"), network_));
    ASSERT_OK(os::write_file_atomically(path("few.cotf"), few_));
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string text_of(const std::string& name) const {
    const Result<Bytes> file = os::read_file(path(name), 1 << 26);
    EXPECT_OK(file);
    return file ? std::string(file->begin(), file->end()) : std::string();
  }
  static CommandOutcome report(std::vector<std::string> words) {
    words.insert(words.begin(), {"model", "report"});
    return run_command(words);
  }

 private:
  inline static Bytes network_, few_;
  TemporaryDirectory folder_;
};

TEST_F(ModelReportCommand, WritesAPageBesideTheModel) {
  const CommandOutcome said = report({path("net.cotf"), "--data", "digits", "--limit", "10"});
  ASSERT_EQ(said.code, ExitCode::ok) << said.out << said.err;
  expect_80_columns(said.out);
  EXPECT_THAT(said.out, HasSubstr("shifted by 1 pixel"));
  const std::string page = text_of("net.report.html"), first = "<!DOCTYPE html>\n";
  ASSERT_TRUE(page.starts_with(first));
  const Xml xml = read_xml(std::string_view(page).substr(first.size()));
  ASSERT_EQ(xml.error, "");
  EXPECT_EQ(xml.named("img").size(), 10u);
  EXPECT_LT(page.size(), 1u << 20);
}

TEST_F(ModelReportCommand, KnowsTheRunThatMadeTheModel) {
  const nlohmann::json figures =
      nlohmann::json::parse(report({path("net.cotf"), "--data", "digits", "-o", path("a.html"), "--json"}).out);
  EXPECT_GT(figures["accuracy"], 0.5);
  EXPECT_EQ(figures["classes"].size(), 10u);
  EXPECT_EQ(figures["robustness"].size(), 7u);
  EXPECT_EQ(figures["adversarial"]["examples"], 1000);
  const nlohmann::json& steps = figures["adversarial"]["steps"];
  EXPECT_LT(steps[3]["by_gradient"]["accuracy"], steps[0]["by_gradient"]["accuracy"]);
  EXPECT_FALSE(figures.contains("is_of_run"));
  const auto with_run = [&](const std::string& digest) {
    const std::string summary = R"({"rounds":3,"security":"active","model_digest":")" + digest + "\"}";
    EXPECT_OK(os::write_file_atomically(path("summary.json"), as_bytes(summary)));
    return report(
        {path("net.cotf"), "--data", path("few.cotf"), "--limit", "1", "-o", path("b.html"), "--run", path(".")});
  };
  EXPECT_EQ(with_run(figures["model_digest"]).code, ExitCode::ok);
  EXPECT_THAT(text_of("b.html"), HasSubstr("the digests agree"));
  const CommandOutcome other = with_run("00");
  EXPECT_EQ(other.code, ExitCode::failure);
  EXPECT_THAT(other.out, HasSubstr("the file is not the model that the run made"));
}

TEST_F(ModelReportCommand, TriesWhetherTrainingExamplesAreToldApart) {
  ASSERT_EQ(run_command({"data", "make", "digits", "--devices", "8", "--held-out", "0.1", "-o", path("d")}).code,
            ExitCode::ok);
  const std::vector<std::string> words = {path("net.cotf"), "--data", path("d/held-out.cotf"), "--limit", "1"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return report(all);
  };
  const CommandOutcome alone = with({});
  EXPECT_THAT(alone.out, HasSubstr("membership not drilled: no training examples were named (--members)"));
  const CommandOutcome said = with({"--members", path("d/device-01.cotf")});
  expect_80_columns(said.out);
  EXPECT_THAT(said.out, HasSubstr("MEMBERS TOLD APART"));
  const nlohmann::json json = nlohmann::json::parse(with({"--members", path("d/device-01.cotf"), "--json"}).out);
  EXPECT_LT(json["intervals"]["loss"]["low"], json["loss"]);
  EXPECT_GT(json["intervals"]["accuracy"]["high"], json["accuracy"]);
  const nlohmann::json& drill = json["membership"];
  EXPECT_LT(drill["area"]["low"], 0.6) << "one epoch learns nothing by heart";
  EXPECT_TRUE(drill["found"][1]["true_positives"].is_null()) << "of 180 others";
  EXPECT_TRUE(drill["promise"].is_null());
  EXPECT_THAT(with({"--members", path("d/held-out.cotf")}).err, HasSubstr("are those that the model is judged by"));
  EXPECT_EQ(with({"--members", path("d/nobody.cotf")}).code, ExitCode::usage);
}

TEST_F(ModelReportCommand, IsOfTablesAndNumbersToo) {
  std::string text = "age,size,price\n";
  for (int i = 0; i < 60; ++i)
    text += std::to_string(20 + i % 13) + "," + std::to_string(i % 7) + "," + std::to_string(i % 13 * 1.5) + "\n";
  ASSERT_OK(os::write_file_atomically(path("t.csv"), as_bytes(text)));
  ModelBuilder build("line", {2}, 1);
  const Model line = load_or_die(build.finish(build.dense(build.input(), 1)));
  ASSERT_OK(os::write_file_atomically(path("t.cotf"), line.file()));
  const CommandOutcome said =
      report({path("t.cotf"), "--data", "csv:" + path("t.csv") + "?target=price&as=number", "-o", path("t.html")});
  EXPECT_TRUE(said.code == ExitCode::ok || said.code == ExitCode::failure) << said.err;
  const std::string page = text_of("t.html");
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">age</th>"));
  EXPECT_THAT(page, HasSubstr("mae"));
  EXPECT_EQ(page.find("How sure it is"), std::string::npos);
}

TEST_F(ModelReportCommand, JudgesByAColumn) {
  std::string text = "age,sex,risk\n";
  for (int i = 0; i < 80; ++i) {
    text += std::to_string(i % 40) + (i % 2 == 0 ? ",f," : ",m,") + (i % 40 > 19 ? "high\n" : "low\n");
  }
  ASSERT_OK(os::write_file_atomically(path("t.csv"), as_bytes(text)));
  ModelBuilder build("two", {3}, 1);  // age, and sex in two
  const Model two = load_or_die(build.finish(build.dense(build.input(), 2)));
  ASSERT_OK(os::write_file_atomically(path("t.cotf"), two.file()));
  const std::string data = "csv:" + path("t.csv") + "?target=risk";
  const std::vector<std::string> words = {path("t.cotf"), "--data", data, "--group", "sex"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return report(all);
  };
  const CommandOutcome said = with({});
  expect_80_columns(said.out);
  EXPECT_THAT(said.out, HasSubstr("sex  EXAMPLES  ACCURACY"));
  EXPECT_THAT(said.out, HasSubstr("selected is said to be low"));
  const nlohmann::json json = nlohmann::json::parse(with({"--json", "--positive", "high"}).out)["fairness"];
  EXPECT_EQ(json["positive"], "high");
  ASSERT_EQ(json["groups"].size(), 2u);
  EXPECT_EQ(json["groups"][0]["group"], "f");
  EXPECT_EQ(json["groups"][1]["examples"], 40);
  EXPECT_TRUE(json["gaps"]["equalised_odds"].contains("p"));
  EXPECT_THAT(text_of("t.report.html"), HasSubstr("Fairness by group"));
  EXPECT_THAT(with({"--group-min", "50"}).out, HasSubstr("2 small groups in (other)"));
  EXPECT_THAT(with({"--positive", "middle"}).err, HasSubstr("there is no class \"middle\""));
  EXPECT_THAT(report({path("t.cotf"), "--data", data, "--group", "race"}).err, HasSubstr("age, sex, risk"));
  ASSERT_OK(os::write_file_atomically(path("g.csv"), as_bytes("site\nnorth\n")));
  EXPECT_THAT(report({path("t.cotf"), "--data", data, "--group", "site", "--group-table", path("g.csv")}).err,
              HasSubstr("groups for 1 examples, but 80 to judge"));
  const CommandOutcome digits = report({path("net.cotf"), "--data", "digits", "--group", "site"});
  EXPECT_EQ(digits.code, ExitCode::usage);
  EXPECT_THAT(digits.err, HasSubstr("--group-table FILE"));
}

TEST_F(ModelReportCommand, SaysWhatItReadsOfOtherFiles) {
  const std::vector<std::string> words = {path("net.cotf"), "--data", path("few.cotf"), "--limit", "1"};
  const auto with = [&](const std::string& option, const std::string& text) {
    EXPECT_OK(os::write_file_atomically(path("more.json"), as_bytes(text)));
    std::vector<std::string> all = words;
    all.insert(all.end(), {option, path("more.json")});
    return report(all);
  };
  const CommandOutcome broken = with("--ledger", R"({"records":[{"seq":1}],"head":{}})");
  EXPECT_EQ(broken.code, ExitCode::usage);
  EXPECT_THAT(broken.err, HasSubstr("more.json: privacy ledger: record 1 is not what its digest says"));
  const CommandOutcome empty =
      with("--ledger", R"({"records":[],"head":{"seq":0,"digest":")" + std::string(64, '0') + "\"}}");
  EXPECT_THAT(empty.out, HasSubstr("ledger: 0 records, each follows the one before")) << empty.err;
  const CommandOutcome other =
      with("--evaluation",
           R"({"schema":"coterie.evaluation_result.v1","models":[{"model":"ab","devices":3,"examples":9}]})");
  EXPECT_EQ(other.code, ExitCode::failure) << other.err;
  EXPECT_THAT(other.out, HasSubstr("devices judged another model"));
  EXPECT_THAT(with("--evaluation", "{}").err, HasSubstr("coterie.evaluation_result.v1"));
}

TEST_F(ModelReportCommand, TellsOfDrills) {
  const std::string summary = R"({"accuracy":0.42,"attack":"alie:0.2","aggregation":"median","accuracy_majority":0.1})";
  ASSERT_OK(os::write_file_atomically(path("summary.json"), as_bytes(summary)));
  const std::vector<std::string> words = {path("net.cotf"), "--data", path("few.cotf"), "--limit", "1",
                                          "--drill",        path(".")};
  EXPECT_THAT(report(words).out, HasSubstr("alie:0.2  median  42.0 %        -  10.0 %"));
  EXPECT_THAT(text_of("net.report.html"), HasSubstr("alie:0.2"));
  EXPECT_EQ(report({path("net.cotf"), "--data", "digits", "--drill", path("no")}).code, ExitCode::usage);
}

TEST_F(ModelReportCommand, SaysWhatIsNotExplained) {
  ModelBuilder build("broken", {8, 8, 1}, 1);  // the logarithm of a black pixel
  const Model broken =
      load_or_die(build.finish(build.dense(build.flatten(build.op(OpKind::log, {build.input()})), 10)));
  ASSERT_OK(os::write_file_atomically(path("broken.cotf"), broken.file()));
  const CommandOutcome said = report({path("broken.cotf"), "--data", "digits", "--limit", "2"});
  EXPECT_EQ(said.code, ExitCode::failure) << said.err;
  EXPECT_THAT(said.out, HasSubstr("what the model says of 1,797 examples is no number"));
  EXPECT_THAT(said.out, HasSubstr("\nnot explained: example 0, method integrated_gradients: the model's output is"));
  EXPECT_THAT(text_of("broken.report.html"), HasSubstr("Not explained: example 0, method integrated_gradients"));
  const nlohmann::json json =
      nlohmann::json::parse(report({path("broken.cotf"), "--data", "digits", "--limit", "2", "--json"}).out);
  EXPECT_THAT(json["not_explained"], HasSubstr("example 0"));
  EXPECT_FALSE(json.contains("explanations_hold"));
}

// However its path is spelt.
TEST_F(ModelReportCommand, ThePageIsNoInput) {
  const Bytes before = *os::read_file(path("net.cotf"), 1 << 24);
  for (const std::string& page : {path("net.cotf"), path("./net.cotf"), path("no/../net.cotf")}) {
    const CommandOutcome said = report({path("net.cotf"), "--data", "digits", "-o", page});
    EXPECT_EQ(said.code, ExitCode::usage) << page;
    EXPECT_THAT(said.err, HasSubstr("-o names a file that has another purpose")) << page;
  }
  ASSERT_OK(os::write_file_atomically(path("summary.json"), as_bytes("{\"rounds\":1}")));
  EXPECT_EQ(report({path("net.cotf"), "--data", "digits", "--run", path("."), "-o", path("summary.json")}).code,
            ExitCode::usage);
  EXPECT_EQ(*os::read_file(path("net.cotf"), 1 << 24), before);
}

TEST_F(ModelReportCommand, WhatCannotBeReportedIsUsage) {
  EXPECT_EQ(report({path("nowhere.cotf"), "--data", "digits"}).code, ExitCode::usage);
  EXPECT_EQ(report({path("net.cotf"), "--data", "nowhere"}).code, ExitCode::usage);
  EXPECT_EQ(report({path("net.cotf"), "--data", "digits", "--run", path("no")}).code, ExitCode::usage);
  EXPECT_EQ(report({path("net.cotf")}).code, ExitCode::usage);
  EXPECT_EQ(report({path("net.cotf"), "--data", "digits", "--method", "permutation"}).code, ExitCode::usage);
  EXPECT_EQ(report({path("net.cotf"), "--data", path("few.cotf"), "-o", path("no/folder/x.html")}).code,
            ExitCode::failure);
  ASSERT_OK(os::write_file_atomically(path("summary.json"), as_bytes("{\"rounds\":")));
  EXPECT_EQ(report({path("net.cotf"), "--data", "digits", "--run", path(".")}).code, ExitCode::usage);
}

}  // namespace
}  // namespace coterie::test
