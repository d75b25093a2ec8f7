#include "tools/sweep/grid.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using nlohmann::json;

std::vector<std::string> names(const std::vector<JobVariant>& variants) {
  std::vector<std::string> found;
  for (const JobVariant& variant : variants) found.push_back(variant.name);
  return found;
}

TEST(SweepGrid, ReadsValuesAsJsonOrAsWords) {
  const FieldValues values = parse_field_values("a.b=1,0.5,true,fedavg,[1,2],\"x,y\",null").value();
  EXPECT_EQ(values.path, "a.b");
  EXPECT_THAT(values.values, testing::ElementsAre("1", "0.5", "true", "\"fedavg\"", "[1,2]", "\"x,y\"", "null"));
}

TEST(SweepGrid, RefusesWhatIsNoSetting) {
  for (const char* text : {"", "a", "a=", "=1", "a..b=1", ".a=1", "a.=1", "a=1,,2", "a=1,"}) {
    EXPECT_ERROR(parse_field_values(text), ErrorCode::invalid_argument, "") << text;
  }
  EXPECT_ERROR(parse_variant("a=1;b"), ErrorCode::invalid_argument, "`b` is no setting");
}

TEST(SweepGrid, HasEveryCombination) {
  const std::vector<FieldValues> grid = {parse_field_values("strategy.kind=fedavg,fedadam").value(),
                                         parse_field_values("training.batch_size=8,16").value()};
  const auto variants = variants_of({}, grid);
  ASSERT_OK(variants);
  EXPECT_THAT(names(*variants), testing::ElementsAre("kind=fedavg, batch_size=8", "kind=fedavg, batch_size=16",
                                                     "kind=fedadam, batch_size=8", "kind=fedadam, batch_size=16"));
}

TEST(SweepGrid, NamesHaveAsMuchOfAPathAsTheyNeed) {
  const std::vector<FieldValues> grid = {parse_field_values("strategy.kind=fedavg").value(),
                                         parse_field_values("training.optimizer.kind=sgd").value()};
  EXPECT_THAT(names(variants_of({}, grid).value()), testing::ElementsAre("strategy.kind=fedavg, optimizer.kind=sgd"));
  EXPECT_THAT(names(variants_of({}, {}).value()), testing::ElementsAre("the job"));
}

TEST(SweepGrid, TakesAListAndAGridTogether) {
  const std::vector<std::vector<FieldValue>> list = {parse_variant("a=1;b=2").value(), parse_variant("a=3").value()};
  const auto variants = variants_of(list, {parse_field_values("c=4,5").value()});
  EXPECT_THAT(names(variants.value()), testing::ElementsAre("a=1, b=2, c=4", "a=1, b=2, c=5", "a=3, c=4", "a=3, c=5"));
}

TEST(SweepGrid, RefusesWhatIsTwice) {
  EXPECT_ERROR(variants_of({}, {parse_field_values("a=1").value(), parse_field_values("a=2").value()}),
               ErrorCode::invalid_argument, "`a` is set twice");
  EXPECT_ERROR(variants_of({}, {parse_field_values("a=1,1").value()}), ErrorCode::invalid_argument, "is there twice");
}

TEST(SweepGrid, HasALimit) {
  FieldValues many{.path = "a", .values = {}};
  for (int i = 0; i < 9; ++i) many.values.push_back(std::to_string(i));
  FieldValues more{.path = "b", .values = many.values};
  EXPECT_ERROR(variants_of({}, {many, more}), ErrorCode::too_large, "more than 64");
}

TEST(SweepGrid, SetsFieldsOfAJob) {
  const json job = {{"training", {{"batch_size", 4}, {"loss", "mse"}}}, {"name", "n"}};
  const auto changed = with_fields(job, parse_variant("training.batch_size=8;rounds.count=3").value());
  ASSERT_OK(changed);
  EXPECT_EQ((*changed)["training"], json({{"batch_size", 8}, {"loss", "mse"}}));
  EXPECT_EQ((*changed)["rounds"]["count"], 3);
  EXPECT_ERROR(with_fields(job, parse_variant("name.x=1").value()), ErrorCode::invalid_argument, "is no object");
}

}  // namespace
}  // namespace coterie
