// coterie model train --watch
#include <gmock/gmock.h>

#include <filesystem>
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

// digits through a ReLU that none of its units passes; its names are those of somebody who wants to move a cursor.
std::string dead_model(const std::string& folder) {
  ModelBuilder build("dead", {8, 8, 1}, 1);
  const TensorId weight = build.uniform("<b>a weight whose name is long\x1b[31m", {64, 16}, 0.1);
  const TensorId bias = build.parameter("bias", {16}, std::vector<float>(16, -100));
  const TensorId x = build.op(OpKind::dense, {build.flatten(build.input()), weight, bias}, {}, "layer\x1b[31m");
  const Result<Bytes> file = build.finish(build.dense(build.op(OpKind::relu, {x}, {}, "gate\x1b[31m"), 10));
  EXPECT_OK(file);
  EXPECT_OK(os::write_file_atomically(folder + "/net.cotf", *file));
  return folder + "/net.cotf";
}

std::vector<std::string> train(const std::string& model, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"model", "train", model, "--data", "digits", "--epochs", "3", "--quiet"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(TrainWatch, ShowsATableAndWritesAReport) {
  const TemporaryDirectory folder;
  const std::string model = dead_model(folder.path()), report = folder.path() + "/watch.json";
  const CommandOutcome text = run_command(train(model, {"--watch", "recommended", "--watch-report", report}));
  EXPECT_EQ(text.code, ExitCode::ok) << "the model is trained: a hit is no failure. " << text.err;
  EXPECT_THAT(text.out, HasSubstr("dead_relu"));
  EXPECT_EQ(text.out.find('\x1b'), std::string::npos) << "a model's names move no cursor";
  std::istringstream lines(text.out.substr(text.out.find("\nwatch: ")));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;

  const Result<Bytes> file = os::read_file(report, 1 << 20);
  ASSERT_OK(file);
  const nlohmann::json written = nlohmann::json::parse(as_text(*file));
  bool has_dead = false;
  for (const nlohmann::json& hit : written["hits"]) {
    if (hit["check"] != "dead_relu") continue;
    has_dead = true;
    EXPECT_EQ(hit["setting"], "dead_share_above");
    EXPECT_EQ(hit["value"], 1);
    EXPECT_EQ(hit["threshold"], 0.95);
    EXPECT_EQ(hit["layer"], "gate\x1b[31m");
    EXPECT_GE(hit["first_step"], 50);
  }
  EXPECT_TRUE(has_dead);
  EXPECT_EQ(written["left_out"], 0);
}

TEST(TrainWatch, AHealthyTrainingHasNothing) {
  const TemporaryDirectory folder;
  const std::string model = folder.path() + "/net.cotf";
  ASSERT_EQ(run_command({"model", "new", "cnn", "--input", "8x8x1", "-o", model}).code, ExitCode::ok);
  const CommandOutcome text = run_command(train(model, {"--watch", "recommended"}));
  EXPECT_EQ(text.code, ExitCode::ok) << text.err;
  EXPECT_THAT(text.out, HasSubstr("watch: nothing found in "));
  const CommandOutcome json = run_command(train(model, {"--watch", "recommended", "--json"}));
  const nlohmann::json answer = nlohmann::json::parse(json.out);
  EXPECT_TRUE(answer["watch"]["hits"].empty());
  EXPECT_GT(answer["watch"]["looks"], 1);
  const CommandOutcome plain = run_command(train(model, {"--json"}));
  EXPECT_FALSE(nlohmann::json::parse(plain.out).contains("watch"));
}

TEST(TrainWatch, TakesAFileOfChecks) {
  const TemporaryDirectory folder;
  const std::string model = dead_model(folder.path()), file = folder.path() + "/checks.json";
  ASSERT_OK(os::write_file_atomically(
      file, as_bytes(R"({"every": 7, "checks": [{"check": "weight_too_small", "mean_below": -99}]})")));
  const CommandOutcome json = run_command(train(model, {"--watch", file, "--json"}));
  ASSERT_EQ(json.code, ExitCode::ok) << json.err;
  const nlohmann::json watch = nlohmann::json::parse(json.out)["watch"];
  EXPECT_EQ(watch["every"], 7);
  ASSERT_EQ(watch["hits"].size(), 1u);
  EXPECT_EQ(watch["hits"][0]["tensor"], "bias");
}

// The training ends with an error, and what was seen before it stands above.
TEST(TrainWatch, ATrainingThatDivergesShowsItsHits) {
  const TemporaryDirectory folder;
  const std::string model = folder.path() + "/net.cotf", file = folder.path() + "/checks.json";
  ASSERT_EQ(run_command({"model", "new", "cnn", "--input", "8x8x1", "-o", model}).code, ExitCode::ok);
  ASSERT_OK(os::write_file_atomically(
      file,
      as_bytes(R"({"checks": [{"check": "weight_change_too_large", "ratio_above": 10, "tensors": "*weight"}]})")));
  const CommandOutcome text = run_command(train(model, {"--watch", file, "--lr", "1e6"}));
  EXPECT_NE(text.code, ExitCode::ok);
  EXPECT_THAT(text.err, HasSubstr("not finite"));
  EXPECT_THAT(text.out, HasSubstr("weight_change_too_large"));
}

// The first looks are at the steps 0 and 50; it diverges between them.
TEST(TrainWatch, ATrainingThatDivergesAtOnceIsNotCleared) {
  const TemporaryDirectory folder;
  const std::string model = folder.path() + "/net.cotf", report = folder.path() + "/watch.json";
  ASSERT_EQ(run_command({"model", "new", "cnn", "--input", "8x8x1", "-o", model}).code, ExitCode::ok);
  const CommandOutcome text =
      run_command(train(model, {"--watch", "recommended", "--lr", "1e6", "--watch-report", report}));
  EXPECT_THAT(text.err, HasSubstr("not finite"));
  EXPECT_THAT(text.out, HasSubstr("overflow"));
  EXPECT_EQ(text.out.find("nothing found"), std::string::npos);
  const Result<Bytes> file = os::read_file(report, 1 << 20);
  ASSERT_OK(file);
  EXPECT_FALSE(nlohmann::json::parse(as_text(*file))["hits"].empty());
  const CommandOutcome json = run_command(train(model, {"--watch", "recommended", "--lr", "1e6", "--json"}));
  EXPECT_NE(json.code, ExitCode::ok);
  const nlohmann::json answer = nlohmann::json::parse(json.out);
  EXPECT_THAT(answer["error"].get<std::string>(), HasSubstr("not finite"));
  EXPECT_FALSE(answer["watch"]["hits"].empty());
}

// LoRA's second factor is zero at first by design; its long names are told apart by their ends.
TEST(TrainWatch, CompanionsAreNoFault) {
  const TemporaryDirectory folder;
  const std::string model = folder.path() + "/net.cotf", file = folder.path() + "/checks.json";
  ASSERT_EQ(run_command({"model", "new", "cnn", "--input", "8x8x1", "-o", model}).code, ExitCode::ok);
  const std::vector<std::string> lora = {"--lora", "rank=2:dense*.weight", "--watch"};
  const auto with = [&](const std::string& watch) {
    std::vector<std::string> words = lora;
    words.push_back(watch);
    return run_command(train(model, words));
  };
  const CommandOutcome text = with("recommended");
  EXPECT_EQ(text.out.find("weight_initial"), std::string::npos) << text.out;
  ASSERT_OK(
      os::write_file_atomically(file, as_bytes(R"({"checks": [{"check": "weight_too_large", "max_above": -9}]})")));
  const CommandOutcome names = with(file);
  EXPECT_THAT(names.out, HasSubstr("dense1.weight.lora_a "));
  EXPECT_THAT(names.out, HasSubstr("dense1.weight.lora_b "));
}

TEST(TrainWatch, ACheckOfNothingIsUsage) {
  const TemporaryDirectory folder;
  const std::string model = dead_model(folder.path()), file = folder.path() + "/checks.json";
  const auto refused = [&](const std::string& check) {
    EXPECT_OK(
        os::write_file_atomically(file, as_bytes(R"({"checks": [{"check": "loss_not_decreasing"}, )" + check + "]}")));
    const CommandOutcome outcome = run_command(train(model, {"--watch", file}));
    EXPECT_EQ(outcome.code, ExitCode::usage);
    return outcome.err;
  };
  EXPECT_THAT(refused(R"({"check": "weight_overflow", "tensors": "convv*"})"),
              HasSubstr("checks.json: /checks/1 (weight_overflow) matches nothing of the model"));
  EXPECT_THAT(refused(R"({"check": "dead_relu", "op": "relu6"})"), HasSubstr("op `relu6`"));
}

TEST(TrainWatch, AWatchThatIsNoneIsUsage) {
  const TemporaryDirectory folder;
  const std::string model = dead_model(folder.path()), file = folder.path() + "/checks.json";
  EXPECT_EQ(run_command(train(model, {"--watch", "/nowhere/checks.json"})).code, ExitCode::usage);
  ASSERT_OK(os::write_file_atomically(file, as_bytes(R"({"checks": [{"check": "dead_rellu"}]})")));
  const CommandOutcome wrong = run_command(train(model, {"--watch", file}));
  EXPECT_EQ(wrong.code, ExitCode::usage);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean `dead_relu`?"));
  EXPECT_THAT(wrong.err, HasSubstr(file));
  EXPECT_THAT(run_command(train(model, {"--watch-report", file})).err, HasSubstr("--watch"));
  EXPECT_THAT(run_command(train(model, {"--watch", "recomended"})).err, HasSubstr("did you mean `recommended`?"));
  const std::string both = folder.path() + "/both";
  EXPECT_THAT(run_command(train(model, {"--watch", "recommended", "--watch-report", both, "-o", both})).err,
              HasSubstr("another purpose"));
  EXPECT_THAT(run_command(train(model, {"--watch", "recommended", "--watch-report",
                                        folder.path() + "/./" + std::filesystem::path(model).filename().string()}))
                  .err,
              HasSubstr("another purpose"));
  EXPECT_NE(run_command(train(model, {"--watch", "recommended", "--watch-report", "/nowhere/r.json"})).code,
            ExitCode::ok);
}

}  // namespace
}  // namespace coterie::test
