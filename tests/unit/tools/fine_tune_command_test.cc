// coterie model fine-tune: a model is written if it is better on what is held out.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/model_builder.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

class FineTuneCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    ModelBuilder build("line", {8, 8, 1}, 1);
    const Result<Bytes> file = build.finish(build.dense(build.flatten(build.input()), 10));
    ASSERT_OK(file);
    ASSERT_OK(os::write_file_atomically(path("net.cotf"), *file));
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  CommandOutcome tune(const std::string& from, const std::string& to, std::vector<std::string> more) const {
    std::vector<std::string> words = {"model", "fine-tune", path(from), "--data", "digits", "-o", path(to)};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(words);
  }

 private:
  TemporaryDirectory folder_;
};

TEST_F(FineTuneCommand, WritesWhatIsBetterAndNothingElse) {
  const CommandOutcome better = tune("net.cotf", "mine.cotf", {"--epochs", "3", "--json"});
  ASSERT_EQ(better.code, ExitCode::ok) << better.err;
  const nlohmann::json said = nlohmann::json::parse(better.out);
  EXPECT_EQ(said["is_better"], true);
  EXPECT_GT(said["held_out"], 100);
  EXPECT_GT(said["after"]["accuracy"].get<double>(), said["before"]["accuracy"].get<double>());
  EXPECT_TRUE(os::exists(path("mine.cotf")));
  // Steps that round to nothing: the same is not better.
  const CommandOutcome worse = tune("mine.cotf", "worse.cotf", {"--lr", "1e-30"});
  EXPECT_EQ(worse.code, ExitCode::failure) << worse.err;
  EXPECT_THAT(worse.out, HasSubstr("It is no better: nothing is written"));
  EXPECT_FALSE(os::exists(path("worse.cotf")));
}

TEST_F(FineTuneCommand, SaysWhatItDoesNotTake) {
  EXPECT_EQ(tune("net.cotf", "a.cotf", {"--held-out-share", "0.7"}).code, ExitCode::usage);
  EXPECT_EQ(tune("net.cotf", "a.cotf", {"--lora", "rank=2:*"}).code, ExitCode::usage);
  EXPECT_EQ(tune("none.cotf", "a.cotf", {}).code, ExitCode::usage);
}

}  // namespace
}  // namespace coterie::test
