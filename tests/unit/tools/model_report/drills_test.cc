// What summaries of runs say of drills.
#include "tools/model_report/drills.h"

#include <gmock/gmock.h>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

TEST(Drills, AreWhatSummariesSay) {
  const Result<DrillOutcome> demo = parse_drill(
      R"({"schema":"coterie.demo.v1","accuracy":0.9,"accuracy_majority":0.11,"attack":"sign_flip:0.2",
          "accuracy_without_attack":0.95,"aggregation":"krum","security":"none"})");
  ASSERT_OK(demo);
  EXPECT_EQ(demo->attack, "sign_flip:0.2");
  EXPECT_EQ(demo->aggregation, "krum");
  EXPECT_DOUBLE_EQ(demo->score, 0.9);
  EXPECT_DOUBLE_EQ(*demo->without_attack, 0.95);
  EXPECT_DOUBLE_EQ(*demo->chance, 0.11);
  const Result<DrillOutcome> numbers = parse_drill(R"({"schema":"coterie.simulate.v1","r2":0.7,"attack":"none"})");
  ASSERT_OK(numbers);
  EXPECT_TRUE(numbers->is_of_numbers);
  EXPECT_EQ(numbers->aggregation, "mean");
  EXPECT_DOUBLE_EQ(numbers->score, 0.7);
  EXPECT_DOUBLE_EQ(*numbers->chance, 0) << "R2 of always saying the mean";
  EXPECT_FALSE(numbers->without_attack);
}

TEST(Drills, OthersAreRefused) {
  for (const char* text : {"", "[]", "{", "{\"attack\":\"none\"}", "{\"accuracy\":\"high\"}", "{\"accuracy\":1e999}"}) {
    EXPECT_EQ(parse_drill(text).error().code(), ErrorCode::malformed) << text;
  }
  const std::vector<std::string> many(kDrillsMax + 1, "x");
  EXPECT_EQ(read_drills(many).error().code(), ErrorCode::too_large);
  EXPECT_THAT(read_drills(std::vector<std::string>{"/nowhere"}).error().message(), HasSubstr("/nowhere/summary.json"));
}

TEST(Drills, AreNamedByTheirFolder) {
  const TemporaryDirectory folder;
  ASSERT_OK(os::write_file_atomically(folder / "summary.json", as_bytes("{\"accuracy\":0.5}")));
  const std::string path = (folder / ".");
  const Result<std::vector<DrillOutcome>> read = read_drills(std::vector<std::string>{path});
  ASSERT_OK(read);
  ASSERT_EQ(read->size(), 1u);
  EXPECT_FALSE((*read)[0].run.empty());
  EXPECT_EQ((*read)[0].run.find('/'), std::string::npos);
  EXPECT_EQ((*read)[0].attack, "none");
}

}  // namespace
}  // namespace coterie::test
