#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/os/file.h"
#include "device_sdk/runtime/model_builder.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

// digits (8x8, values in [0, 1]) through exp(200 x), which is infinite where a pixel is above 0.44.
std::string overflowing_model(const std::string& folder) {
  ModelBuilder build("overflowing", {8, 8, 1}, 1);
  const float factor = 200;
  const TensorId scaled =
      build.op(OpKind::mul, {build.flatten(build.input()), build.constant("factor", {1}, std::span(&factor, 1))});
  const TensorId x = build.op(OpKind::exp, {scaled}, {}, "<b>exp\x1b[31m");
  const Result<Bytes> file = build.finish(build.dense(x, 10));
  EXPECT_OK(file);
  EXPECT_OK(os::write_file_atomically(folder + "/net.cotf", *file));
  return folder + "/net.cotf";
}

TEST(WhyNan, NamesTheOpAndFails) {
  const TemporaryDirectory folder;
  const std::string model = overflowing_model(folder.path());
  const CommandOutcome text = run_command({"model", "why-nan", model, "--data", "digits"});
  EXPECT_EQ(text.code, ExitCode::failure) << text.err;
  EXPECT_THAT(text.out, HasSubstr("made the first value that is not finite, in step 0, forward"));
  EXPECT_EQ(text.out.find('\x1b'), std::string::npos) << "a model's names move no cursor";
  std::istringstream lines(text.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;

  const CommandOutcome json = run_command({"model", "why-nan", model, "--data", "digits", "--json"});
  EXPECT_EQ(json.code, ExitCode::failure);
  const nlohmann::json answer = nlohmann::json::parse(json.out);
  EXPECT_EQ(answer["found"]["cause"], "op");
  EXPECT_EQ(answer["found"]["kind"], "exp");
  EXPECT_EQ(answer["found"]["phase"], "forward");
  EXPECT_TRUE(answer["found"]["example"].is_number());
}

TEST(WhyNan, HealthyTrainingIsOk) {
  const TemporaryDirectory folder;
  const std::string model = folder.path() + "/net.cotf";
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "8x8x1", "-o", model}).code, ExitCode::ok);
  const CommandOutcome fine = run_command({"model", "why-nan", model, "--data", "digits", "--steps", "7", "--json"});
  EXPECT_EQ(fine.code, ExitCode::ok) << fine.err;
  const nlohmann::json answer = nlohmann::json::parse(fine.out);
  EXPECT_EQ(answer["steps"], 7);
  EXPECT_TRUE(answer["found"].is_null());
}

TEST(WhyNan, BeginsAtTheCheckpointThatTrainWrote) {
  const TemporaryDirectory folder;
  const std::string model = folder.path() + "/net.cotf", checkpoint = folder.path() + "/ck";
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "8x8x1", "-o", model}).code, ExitCode::ok);
  const std::vector<std::string> same = {model, "--data", "digits", "--epochs", "2", "--batch", "500"};
  std::vector<std::string> train = {"model", "train"}, why = {"model", "why-nan"};
  train.insert(train.end(), same.begin(), same.end());
  why.insert(why.end(), same.begin(), same.end());
  train.insert(train.end(), {"--checkpoint", checkpoint, "--checkpoint-every", "1", "--quiet"});
  ASSERT_EQ(run_command(train).code, ExitCode::ok);
  why.insert(why.end(), {"--checkpoint", checkpoint, "--json"});
  const CommandOutcome fine = run_command(why);
  EXPECT_EQ(fine.code, ExitCode::ok) << fine.err;
  EXPECT_GT(nlohmann::json::parse(fine.out)["first_step"], 0);
  why.pop_back();
  const CommandOutcome none = run_command(why);
  EXPECT_EQ(none.code, ExitCode::ok) << none.err;
  EXPECT_THAT(none.out, HasSubstr("nothing was looked at: the checkpoint is of step 8"));
  why.insert(why.end(), {"--lr", "0.7"});
  EXPECT_EQ(run_command(why).code, ExitCode::usage) << "a checkpoint of another training";
  const CommandOutcome alone = run_command({"model", "why-nan", checkpoint, "--data", "digits"});
  EXPECT_EQ(alone.code, ExitCode::usage);
  EXPECT_THAT(alone.err, HasSubstr("is a checkpoint of a training; a model file is expected: name the model"));
}

TEST(WhyNan, InputThatIsMissingIsUsage) {
  EXPECT_EQ(run_command({"model", "why-nan", "/nowhere/net.cotf", "--data", "digits"}).code, ExitCode::usage);
  const CommandOutcome debugger = run_command({"model", "debug", "/nowhere/steps"});
  EXPECT_EQ(debugger.code, ExitCode::usage);
  EXPECT_THAT(debugger.err, HasSubstr("/nowhere/steps is not there: expected a model file, or a folder"));
}

}  // namespace
}  // namespace coterie::test
