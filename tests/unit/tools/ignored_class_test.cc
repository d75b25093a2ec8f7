#include "tools/data/ignored_class.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/labelled_table.h"
#include "tests/unit/tools/npy_files.h"
#include "tests/unit/tools/run_command.h"

namespace coterie::test {
namespace {

using ::testing::ElementsAre;

TEST(IgnoredClass, GoesBehindTheOthers) {
  const ContractTarget target{.classes = {"-100", "0", "1"}};
  ExampleTable table = labelled({0, 1, 2, 0});
  EXPECT_EQ(ignore_class(-100, target, table), 2);
  EXPECT_THAT(table.labels(), ElementsAre(2, 0, 1, 2));
}

TEST(IgnoredClass, MovesNothingWhereItIsTheLastOrWhereItStandsAsItIs) {
  const ContractTarget last{.classes = {"0", "1", "255"}}, whole{.classes = {"0", "1", "2"}};
  ExampleTable table = labelled({0, 1, 2});
  EXPECT_EQ(ignore_class(255, last, table), 2);
  EXPECT_EQ(ignore_class(1, whole, table), 1);
  EXPECT_EQ(ignore_class(-100, whole, table), -100);
  EXPECT_THAT(table.labels(), ElementsAre(0, 1, 2));
}

// A model of two classes, from arrays in which -100 and 255 are none.
TEST(IgnoredClass, IsCountedNowhereByCommands) {
  const TemporaryDirectory folder;
  ASSERT_EQ(run_command({"model", "new", "logistic", "--input", "2", "--classes", "2", "-o", folder / "net.cotf"}).code,
            ExitCode::ok);
  ASSERT_OK(os::write_file_atomically(folder / "x.npy", npy_file<float>("<f4", "(4, 2)", {1, 5, 3, 5, 2, 2, 0, 7})));
  ASSERT_OK(os::write_file_atomically(folder / "short.npy", npy_file<float>("<f4", "(2, 2)", {1, 5, 3, 5})));
  ASSERT_OK(os::write_file_atomically(folder / "two.npy", npy_file<int64_t>("<i8", "(2,)", {0, 1})));
  const auto judged = [&](const std::string& x, const std::string& y, const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        "model", "evaluate", folder / "net.cotf", "--data", "npy:" + (folder / x) + "," + (folder / y) + "?numbers=raw",
        "-o",    "json"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandOutcome said = run_command(words);
    EXPECT_EQ(said.code, ExitCode::ok) << said.err;
    return nlohmann::json::parse(said.code == ExitCode::ok ? said.out : "{}");
  };
  const nlohmann::json expected = judged("short.npy", "two.npy", {});
  for (const char* const label : {"-100", "255"}) {
    const int64_t none = std::stol(label);
    ASSERT_OK(os::write_file_atomically(folder / "y.npy", npy_file<int64_t>("<i8", "(4,)", {0, 1, none, none})));
    const nlohmann::json found = judged("x.npy", "y.npy", {"--ignore-label", label});
    EXPECT_EQ(found["ignored"], 2) << label;
    EXPECT_EQ(found["loss"], expected["loss"]) << label;
    EXPECT_EQ(found["accuracy"], expected["accuracy"]) << label;
    const CommandOutcome trained = run_command({"model", "train", folder / "net.cotf", "--data",
                                                "npy:" + (folder / "x.npy") + "," + (folder / "y.npy"), "--quiet",
                                                "--ignore-label", label, "--epochs", "1", "-o", folder / "out.cotf"});
    EXPECT_EQ(trained.code, ExitCode::ok) << trained.err;
  }
}

}  // namespace
}  // namespace coterie::test
