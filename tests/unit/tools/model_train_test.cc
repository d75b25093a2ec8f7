// coterie model train with examples that are held out: when it ends, what it keeps, and what is said.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/example_part.h"
#include "device_sdk/runtime/model_builder.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

class EarlyStoppingCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    ModelBuilder build("line", {8, 8, 1}, 1);
    const Result<Bytes> file = build.finish(build.dense(build.flatten(build.input()), 10));
    ASSERT_OK(file);
    ASSERT_OK(os::write_file_atomically(path("net.cotf"), *file));
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  // A rate that is so high that the loss goes up and down.
  CommandOutcome train(const std::string& to, std::vector<std::string> more) const {
    std::vector<std::string> words = {"model",    "train", path("net.cotf"), "--data", "digits", "--lr", "2",
                                      "--epochs", "100",   "--quiet",        "-o",     path(to)};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(words);
  }
  Bytes bytes_of(const std::string& name) const {
    const Result<Bytes> file = os::read_file(path(name), 1 << 24);
    EXPECT_OK(file);
    return file ? *file : Bytes();
  }

 private:
  TemporaryDirectory folder_;
};

TEST_F(EarlyStoppingCommand, EndsWithTheModelThatLostLeast) {
  const CommandOutcome said = train("a.cotf", {"--validation-share", "0.25", "--patience", "2", "--json"});
  ASSERT_EQ(said.code, ExitCode::ok) << said.err;
  const nlohmann::json answer = nlohmann::json::parse(said.out), validation = answer["validation"];
  EXPECT_EQ(validation["has_stopped"], true);
  EXPECT_GT(validation["examples"], 0);
  const uint64_t best = validation["best_step"], steps = answer["steps"];
  ASSERT_GT(best, 0u);
  EXPECT_LT(best, steps) << "two epochs without gain lie between";
  // The training that ends there has made the same model.
  const CommandOutcome until =
      train("b.cotf", {"--validation-share", "0.25", "--patience", "2", "--steps", std::to_string(best), "--json"});
  ASSERT_EQ(until.code, ExitCode::ok) << until.err;
  EXPECT_EQ(nlohmann::json::parse(until.out)["validation"]["best_step"], best);
  EXPECT_EQ(bytes_of("a.cotf"), bytes_of("b.cotf"));
}

TEST_F(EarlyStoppingCommand, SaysWhatItKept) {
  const CommandOutcome said = train("a.cotf", {"--patience", "1"});
  ASSERT_EQ(said.code, ExitCode::ok) << said.err;
  EXPECT_THAT(said.out, HasSubstr("stopped early: the loss of "));
  EXPECT_THAT(said.out, HasSubstr("validation examples was lowest, "));
  for (size_t at = 0; at < said.out.size(); at = said.out.find('\n', at) + 1) {
    EXPECT_LE(said.out.find('\n', at) - at, 80 + path("").size()) << "of the path as much as there is";
  }
  const CommandOutcome all = train("b.cotf", {"--patience", "9", "--steps", "3"});
  EXPECT_THAT(all.out, HasSubstr("\nthe loss of "));
  EXPECT_FALSE(nlohmann::json::parse(train("c.cotf", {"--steps", "3", "--json"}).out).contains("validation"));
}

// The line of an epoch is printed once, though steps that look at held-out examples follow its last one.
TEST_F(EarlyStoppingCommand, LogsEachEpochOnce) {
  std::vector<std::string> words = {"model", "train", path("net.cotf"), "--data", "digits", "--epochs",
                                    "3",     "-o",    path("a.cotf")};
  words.insert(words.end(), {"--patience", "9"});
  const CommandOutcome said = run_command(words);
  ASSERT_EQ(said.code, ExitCode::ok) << said.err;
  size_t lines = 0;
  for (size_t at = said.err.find("epoch "); at != said.err.npos; at = said.err.find("epoch ", at + 1)) lines += 1;
  EXPECT_EQ(lines, 3u) << said.err;
  EXPECT_THAT(said.err, HasSubstr("\nvalidation loss ")) << "what decides is shown at each look";
  EXPECT_THAT(said.err, HasSubstr(", the lowest so far\n"));
  EXPECT_EQ(said.err.find("nan"), std::string::npos) << said.err;
}

TEST_F(EarlyStoppingCommand, AShareOfNothingIsRefused) {
  const std::vector<float> features(3 * 64);
  const std::vector<int32_t> labels(3);
  ASSERT_OK(os::write_file_atomically(path("three.cotf"),
                                      encode_dataset(labelled_dataset("three", 3, {8, 8, 1}, 10), features, labels)));
  const CommandOutcome said = run_command({"model", "train", path("net.cotf"), "--data", path("three.cotf"),
                                           "--validation-share", "0.1", "-o", path("a.cotf")});
  EXPECT_EQ(said.code, ExitCode::usage);
  EXPECT_THAT(said.err, HasSubstr("--validation-share holds out none of 3 examples"));
  EXPECT_EQ(train("a.cotf", {"--validation-share", "0.6"}).code, ExitCode::usage);
  EXPECT_EQ(train("a.cotf", {"--patience", "0"}).code, ExitCode::usage);
}

// why-nan trains on the same examples, and numbers them as the data does.
TEST_F(EarlyStoppingCommand, WhyNanNamesTheExampleOfTheData) {
  constexpr uint64_t kCount = 40;
  const uint32_t broken = split_examples(kCount, .5f).trained.back();
  std::vector<float> features(kCount * 64, .5f);
  features[broken * 64 + 7] = std::nanf("");
  const std::vector<int32_t> labels(kCount, 1);
  ASSERT_OK(os::write_file_atomically(path("d.cotf"),
                                      encode_dataset(labelled_dataset("d", kCount, {8, 8, 1}, 10), features, labels)));
  const CommandOutcome said = run_command({"model", "why-nan", path("net.cotf"), "--data", path("d.cotf"), "--batch",
                                           "4", "--validation-share", "0.5", "--json"});
  EXPECT_EQ(said.code, ExitCode::failure) << said.err;
  EXPECT_EQ(nlohmann::json::parse(said.out)["found"]["example"], broken) << said.out;
}

}  // namespace
}  // namespace coterie::test
