#include "tools/data/own_numbers.h"

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

TEST(OwnNumbers, AreThoseThatClassesAreCalledBy) {
  const auto own = OwnNumbers::of({.classes = {"3", "5", "9"}}, 10, std::nullopt);
  ASSERT_TRUE(own);
  ExampleTable table = labelled({0, 1, 2, 0});
  own->put_into(table);
  EXPECT_THAT(table.labels(), ElementsAre(3, 5, 9, 3));
  EXPECT_EQ(table.header.classes, 10u);
  EXPECT_EQ(own->class_names()[9], "9");
}

TEST(OwnNumbers, AreOfClassesThatAreFewerThanTheModels) {
  EXPECT_FALSE(OwnNumbers::of({.classes = {"1", "2", "3"}}, 3, std::nullopt)) << "1 to 3 are the model's three";
  EXPECT_FALSE(OwnNumbers::of({.classes = {"0", "1", "2"}}, 10, std::nullopt)) << "they have them";
  EXPECT_FALSE(OwnNumbers::of({.classes = {"3", "10"}}, 10, std::nullopt)) << "10 is none of 10";
  EXPECT_FALSE(OwnNumbers::of({.classes = {"-1", "3"}}, 10, std::nullopt));
  EXPECT_FALSE(OwnNumbers::of({.classes = {"03"}}, 10, std::nullopt)) << "a name, and no number";
  EXPECT_FALSE(OwnNumbers::of({.classes = {"cat", "dog"}}, 10, std::nullopt));
  EXPECT_FALSE(OwnNumbers::of({.classes = {"1", "3"}, .cells = 2}, 10, std::nullopt)) << "labels of cells";
  EXPECT_FALSE(OwnNumbers::of({.is_number = true}, 10, std::nullopt));
}

TEST(OwnNumbers, ALabelToIgnoreIsBehindThem) {
  const auto own = OwnNumbers::of({.classes = {"-100", "1", "4"}}, 5, -100);
  ASSERT_TRUE(own);
  ExampleTable table = labelled({0, 1, 2});
  own->put_into(table);
  EXPECT_THAT(table.labels(), ElementsAre(5, 1, 4));
  EXPECT_EQ(table.header.classes, 6u);
  EXPECT_THAT(own->class_names(), ElementsAre("0", "1", "2", "3", "4", "-100"));
}

TEST(OwnNumbers, ALabelToIgnoreThatIsAClassKeepsItsNumber) {
  const auto own = OwnNumbers::of({.classes = {"1", "4"}}, 5, 4);
  ASSERT_TRUE(own);
  ExampleTable table = labelled({0, 1});
  own->put_into(table);
  EXPECT_THAT(table.labels(), ElementsAre(1, 4));
  EXPECT_EQ(table.header.classes, 5u);
}

// Where all four classes of a model are in the data, their numbers are the model's. So they are in each half of it.
TEST(OwnNumbers, JudgeAModelByWhatItMeans) {
  const TemporaryDirectory folder;
  ASSERT_EQ(run_command({"model", "new", "logistic", "--input", "2", "--classes", "4", "-o", folder / "net.cotf"}).code,
            ExitCode::ok);
  const std::vector<float> numbers{1, 5, 3, 5, 2, 2, 0, 7, 1, 1, 4, 2};
  const auto loss_of = [&](long row, const std::vector<int64_t>& labels, const std::vector<std::string>& more = {}) {
    const std::string rows = std::to_string(labels.size());
    const auto begin = numbers.begin() + 2 * row, end = begin + 2 * static_cast<long>(labels.size());
    EXPECT_OK(os::write_file_atomically(folder / "x.npy", npy_file<float>("<f4", "(" + rows + ", 2)", {begin, end})));
    EXPECT_OK(os::write_file_atomically(folder / "y.npy", npy_file<int64_t>("<i8", "(" + rows + ",)", labels)));
    const std::string data = "npy:" + (folder / "x.npy") + "," + (folder / "y.npy") + "?numbers=raw";
    std::vector<std::string> words = {"model", "evaluate", folder / "net.cotf", "--data", data, "-o", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandOutcome said = run_command(words);
    EXPECT_EQ(said.code, ExitCode::ok) << said.err;
    return nlohmann::json::parse(said.code == ExitCode::ok ? said.out : "{\"loss\": -1}")["loss"].get<double>();
  };
  const double front = loss_of(0, {1, 3}), back = loss_of(2, {0, 2, 0, 2});
  EXPECT_NEAR(2 * front + 4 * back, 6 * loss_of(0, {1, 3, 0, 2, 0, 2}), 1e-5);
  EXPECT_NEAR(loss_of(0, {1, 3, -100}, {"--ignore-label", "-100"}), front, 1e-6);
  EXPECT_NEAR(loss_of(0, {1, 3, 0}, {"--ignore-label", "0"}), front, 1e-6);
}

}  // namespace
}  // namespace coterie::test
