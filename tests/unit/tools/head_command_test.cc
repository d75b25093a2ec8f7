// coterie model train and evaluate with a loss for each of several columns of a table.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/model_builder.h"
#include "proto/messages/model_outputs.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

// x is 0 or 1; a class and an age, 20 or 30, follow from it.
class HeadCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string rows = "x,class,age\n";
    for (int i = 0; i < 80; ++i) rows += i % 2 == 0 ? "0,low,20\n" : "1,high,30\n";
    ASSERT_OK(os::write_file_atomically(path("people.csv"), as_bytes(rows)));
    ModelBuilder build("two", {1}, 3);
    const TensorId own = build.dense(build.input(), 2), age = build.dense(build.input(), 1);
    const Result<Bytes> file = build.finish(own, std::vector{age});
    ASSERT_OK(file);
    ASSERT_OK(os::write_file_atomically(path("net.cotf"), *file));
    const Result<Model> model = Model::load(*file);
    ASSERT_OK(model);
    const std::vector<uint32_t> outputs = *graph_outputs(model->graph());
    for (const uint32_t output : outputs) {
      outputs_.push_back(model->graph().tensors[output].name);
    }
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string people() const { return "csv:" + path("people.csv") + "?target=class,age&as=class,number"; }
  CommandOutcome run(std::vector<std::string> words, const std::vector<std::string>& more = {}) const {
    for (const std::string& word : {"--head", "", "--head", ""}) words.emplace_back(word);
    words[words.size() - 3] = outputs_[0] + ":softmax_cross_entropy";
    words[words.size() - 1] = outputs_[1] + ":mean_squared_error:0.1";
    words.insert(words.end(), more.begin(), more.end());
    return run_command(words);
  }

  TemporaryDirectory folder_;
  std::vector<std::string> outputs_;
};

TEST_F(HeadCommand, LearnsSeveralColumnsInTheirOwnUnits) {
  const CommandOutcome trained = run({"model", "train", path("net.cotf"), "--data", people(), "--epochs", "60", "--lr",
                                      "0.1", "--batch", "8", "--quiet", "--json", "-o", path("out.cotf")});
  ASSERT_EQ(trained.code, ExitCode::ok) << trained.err;
  EXPECT_EQ(nlohmann::json::parse(trained.out)["heads"].size(), 2u);
  const CommandOutcome made = run_command({"data", "make", people(), "-o", path("made"), "--devices", "2", "--json"});
  ASSERT_EQ(made.code, ExitCode::ok) << made.err;
  const CommandOutcome judged =
      run({"model", "evaluate", path("out.cotf"), "--data", path("made/held-out.cotf"), "-o", "json"});
  ASSERT_EQ(judged.code, ExitCode::ok) << judged.err;
  const nlohmann::json heads = nlohmann::json::parse(judged.out)["heads"];
  ASSERT_EQ(heads.size(), 2u);
  EXPECT_EQ(heads[0]["accuracy"], 1.0);
  EXPECT_LT(heads[1]["mae"], 2.0) << "years";
  const CommandOutcome said = run_command({"model", "predict", path("out.cotf"), "--data", people(), "--json"});
  ASSERT_EQ(said.code, ExitCode::ok) << said.err;
  const nlohmann::json answers = nlohmann::json::parse(said.out)["predictions"];
  EXPECT_NEAR(answers[0]["outputs"][outputs_[1]][0].get<double>(), 20, 2);
  EXPECT_NEAR(answers[1]["outputs"][outputs_[1]][0].get<double>(), 30, 2);
}

TEST_F(HeadCommand, AReportTakesOneTarget) {
  const CommandOutcome report =
      run_command({"model", "report", path("net.cotf"), "--data", people(), "-o", path("report.html")});
  EXPECT_NE(report.code, ExitCode::ok);
  EXPECT_THAT(report.err, HasSubstr("takes one target, and an example of people has 2: class, age"));
}

}  // namespace
}  // namespace coterie::test
