// coterie model quantise judges by the loss that the model was trained with: that of --loss, of heads, without labels
// to ignore, on images as the training normalised them.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/model_builder.h"
#include "proto/messages/model_outputs.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"
#include "tests/unit/tools/terminal_width.h"
#include "tools/cli/model_quantise.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(QuantisedLosses, BeforeIsWhatEvaluateSays) {
  const TemporaryDirectory folder;
  const std::string net = folder / "net.cotf", small = folder / "small.cotf";
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "8x8x1", "--classes", "10", "-o", net}).code, ExitCode::ok);
  const std::vector<std::vector<std::string>> judged = {
      {"--loss", "negative_log_likelihood"}, {"--ignore-label", "3"}, {"--augment", "normalise=0.5/0.25"}};
  for (const std::vector<std::string>& more : judged) {
    const CommandOutcome said = run_command(with({"model", "evaluate", net, "--data", "digits", "-o", "json"}, more));
    ASSERT_EQ(said.code, ExitCode::ok) << said.err;
    const nlohmann::json expected = nlohmann::json::parse(said.out);
    for (const std::vector<std::string>& kind : {std::vector<std::string>{}, {"--full"}}) {
      const CommandOutcome done = run_command(with(with({"model", "quantise", net, "--data", "digits", "-o", small,
                                                         "--json", "--max-drop", "100%", "--calibration", "20"},
                                                        more),
                                                   kind));
      ASSERT_EQ(done.code, ExitCode::ok) << done.err;
      const nlohmann::json report = nlohmann::json::parse(done.out);
      EXPECT_EQ(report["before"]["loss"], expected["loss"]) << more[0];
      EXPECT_EQ(report["before"]["accuracy"], expected["accuracy"]) << more[0];
    }
  }
}

TEST(QuantisedLosses, OptionsOfJudgingNeedData) {
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--loss", "l1"}, {"--ignore-label", "3"}, {"--augment", "flip"}}) {
    const CommandOutcome refused =
        run_command(with({"model", "quantise", "net.cotf", "-o", "q.cotf", "--full", "--ranges", "r.json"}, more));
    EXPECT_EQ(refused.code, ExitCode::usage);
    EXPECT_THAT(refused.err, HasSubstr("--data"));
  }
}

TEST(QuantisedLosses, TheDropIsThatOfTheHeadThatLostMost) {
  const HeadResult right{.output = "class", .loss_mean = 1, .measure = HeadMeasure::accuracy, .value = .9};
  const HeadResult wrong{.output = "class", .loss_mean = 1, .measure = HeadMeasure::accuracy, .value = .8};
  const HeadResult near{.output = "age", .loss_mean = 2, .measure = HeadMeasure::mean_absolute_error, .value = 1};
  const HeadResult far{.output = "age", .loss_mean = 3, .measure = HeadMeasure::mean_absolute_error, .value = 1.2};
  EXPECT_DOUBLE_EQ(drop_between(std::vector{right, near}, std::vector{right, far}), .5);
  EXPECT_NEAR(drop_between(std::vector{right, near}, std::vector{wrong, near}), .1, 1e-12);
  HeadResult lost = near;
  lost.loss_mean = NAN;
  EXPECT_TRUE(std::isnan(drop_between(std::vector{near, right}, std::vector{lost, right})));
}

TEST(QuantisedLosses, ADropOfExactlySoMuchIsAllowed) {
  EXPECT_GT(.675 - .67, .005) << "as it is rounded";
  EXPECT_TRUE(is_allowed(.675 - .67, .005));
  EXPECT_FALSE(is_allowed(.0051, .005));
  EXPECT_FALSE(is_allowed(NAN, 1));
}

// x is 0 or 1; a class and an age, 20 or 30, follow from it.
class QuantisedHeads : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string rows = "x,class,age\n";
    for (int i = 0; i < 80; ++i) rows += i % 2 == 0 ? "0,low,20\n" : "1,high,30\n";
    ASSERT_OK(os::write_file_atomically(folder_ / "people.csv", as_bytes(rows)));
    ModelBuilder build("two", {1}, 3);
    const TensorId hidden = build.op(OpKind::relu, {build.dense(build.input(), 64)});
    const TensorId own = build.dense(hidden, 2), age = build.dense(hidden, 1);
    const Result<Bytes> file = build.finish(own, std::vector{age});
    ASSERT_OK(file);
    ASSERT_OK(os::write_file_atomically(folder_ / "net.cotf", *file));
    const Result<Model> model = Model::load(*file);
    ASSERT_OK(model);
    const std::vector<uint32_t> outputs = *graph_outputs(model->graph());
    for (const uint32_t output : outputs) outputs_.push_back(model->graph().tensors[output].name);
  }
  CommandOutcome run(const std::string& command, const std::string& file, const std::vector<std::string>& more) {
    return run_command(
        with({"model", command, folder_ / file, "--data",
              "csv:" + (folder_ / "people.csv") + "?target=class,age&as=class,number", "--head",
              outputs_[0] + ":softmax_cross_entropy", "--head", outputs_[1] + ":mean_squared_error:0.01"},
             more));
  }

  TemporaryDirectory folder_;
  std::vector<std::string> outputs_;
};

TEST_F(QuantisedHeads, AreAllJudged) {
  const std::string small = folder_ / "small.cotf";
  const CommandOutcome done = run("quantise", "net.cotf", {"-o", small, "--json", "--max-drop", "100%"});
  ASSERT_EQ(done.code, ExitCode::ok) << done.err;
  const nlohmann::json report = nlohmann::json::parse(done.out);
  const CommandOutcome said = run("evaluate", "small.cotf", {"-o", "json"});
  ASSERT_EQ(said.code, ExitCode::ok) << said.err;
  EXPECT_EQ(report["after"]["heads"], nlohmann::json::parse(said.out)["heads"]);
  EXPECT_EQ(report["before"]["heads"].size(), 2u);
  const CommandOutcome shown = run("quantise", "net.cotf", {"-o", small, "--max-drop", "100%"});
  EXPECT_THAT(shown.out, HasSubstr("HEAD"));
  expect_80_columns(shown.out);
}

TEST_F(QuantisedHeads, InInt8TheOwnOutputIsJudged) {
  const CommandOutcome done =
      run("quantise", "net.cotf", {"-o", folder_ / "int8.cotf", "--json", "--max-drop", "100%", "--full"});
  ASSERT_EQ(done.code, ExitCode::ok) << done.err;
  const CommandOutcome said = run("evaluate", "int8.cotf", {"-o", "json"});
  ASSERT_EQ(said.code, ExitCode::ok) << said.err;
  const nlohmann::json after = nlohmann::json::parse(done.out)["after"], judged = nlohmann::json::parse(said.out);
  EXPECT_EQ(after["loss"], judged["loss"]);
  EXPECT_EQ(after["accuracy"], judged["accuracy"]);
}

}  // namespace
}  // namespace coterie::test
