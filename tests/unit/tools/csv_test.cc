#include "tools/data/csv.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "tests/support/matchers.h"
#include "tools/data/csv_reader.h"

namespace coterie {
namespace {

using testing::ElementsAre;

template <typename T>
std::vector<T> numbers_of(const Bytes& column) {
  std::vector<T> numbers(column.size() / sizeof(T));
  std::memcpy(numbers.data(), column.data(), column.size());
  return numbers;
}

std::vector<std::string> fields_of(std::string_view text) {
  const auto rows = parse_csv(text);
  EXPECT_OK(rows);
  std::vector<std::string> all;
  for (const CsvRow& row : *rows) all.insert(all.end(), row.fields.begin(), row.fields.end());
  return all;
}

TEST(CsvReader, TakesQuotesBlanksAndEveryEndOfALine) {
  EXPECT_THAT(fields_of("\xef\xbb\xbf"
                        "a, b c ,\r\n\r\n\"x,\"\"y\"\"\n\" , d,\"\"\n1,2,3\r"),
              ElementsAre("a", "b c", "", "x,\"y\"\n", "d", "", "1", "2", "3"));
  EXPECT_THAT(fields_of(""), ElementsAre());
}

TEST(CsvReader, NamesTheLine) {
  EXPECT_ERROR(parse_csv("a,b\n\"x\ny\",1\n1\n"), ErrorCode::malformed, "line 4: has 1 fields, expected 2");
  EXPECT_ERROR(parse_csv("a\n\n\"x\n\n"), ErrorCode::malformed, "line 3: the quotes that open here do not close");
  EXPECT_ERROR(parse_csv("a\n\"x\"y\n"), ErrorCode::malformed, "line 2: expected a comma or the line's end");
  EXPECT_ERROR(parse_csv("a\rb"), ErrorCode::malformed, "line 1: expected a comma");
}

constexpr std::string_view kPeople =
    "age,work,income,weight\n"
    "20,State,<=50K,2\n"
    "40,\"Private, own\",>50K,2\n"
    "30,State,<=50K,2\n";

TEST(Csv, MakesNumbersStandardAndCategoriesOneHot) {
  const auto table = csv_table(kPeople, "people", {.target = "income"});
  ASSERT_OK(table);
  EXPECT_EQ(table->header.name, "people");
  EXPECT_EQ(table->size(), 3u);
  EXPECT_EQ(table->header.classes, 2u);
  EXPECT_THAT(table->labels(), ElementsAre(0, 1, 0));
  ASSERT_EQ(table->header.inputs.size(), 1u);
  EXPECT_THAT(table->header.inputs[0].shape, ElementsAre(4));
  const float one = std::sqrt(1.5f);  // deviation of {20, 40, 30}: sqrt(200 / 3)
  EXPECT_THAT(numbers_of<float>(table->columns[0]),
              testing::Pointwise(testing::FloatEq(), {-one, 0.f, 1.f, 0.f, one, 1.f, 0.f, 0.f, 0.f, 0.f, 1.f, 0.f}));
}

TEST(Csv, GivesCategoriesAsNumbersInAnInputOfTheirOwn) {
  const auto table = csv_table(kPeople, "people", {.target = "income", .standardise = false, .one_hot = false});
  ASSERT_OK(table);
  ASSERT_EQ(table->header.inputs.size(), 2u);
  EXPECT_THAT(numbers_of<float>(table->columns[0]), ElementsAre(20, 2, 40, 2, 30, 2));
  EXPECT_EQ(table->header.inputs[1].type, ColumnType::int32);
  EXPECT_THAT(numbers_of<int32_t>(table->columns[1]), ElementsAre(1, 0, 1));
  const auto categories = csv_table("a,y\nu,1\nv,2\n", "t", {.target = "y", .one_hot = false});
  ASSERT_OK(categories);
  EXPECT_EQ(categories->header.inputs.size(), 1u) << "no numbers, no input for them";
}

TEST(Csv, OrdersClassesThatAreNumbersBySize) {
  const auto table = csv_table("x,y\n1,10\n2,9\n3,10\n4,-1\n", "t", {.target = "y"});
  ASSERT_OK(table);
  EXPECT_THAT(table->labels(), ElementsAre(2, 1, 2, 0));
}

TEST(Csv, PredictsANumberAsItStandsThere) {
  const auto table = csv_table(kPeople, "people", {.target = "age", .target_is_number = true});
  ASSERT_OK(table);
  EXPECT_EQ(table->header.target.type, ColumnType::float32);
  EXPECT_EQ(table->header.classes, 0u);
  EXPECT_TRUE(table->labels().empty());
  EXPECT_THAT(numbers_of<float>(table->columns.back()), ElementsAre(20, 40, 30));
}

TEST(Csv, NamesLineAndColumn) {
  const CsvOptions options{.target = "y"};
  EXPECT_ERROR(csv_table("x,y\n1,a\n\n,b\n", "t", options), ErrorCode::malformed,
               "line 4, column x: is empty, expected a number");
  EXPECT_ERROR(csv_table("x,y\n1,a\n", "t", {.target = "y", .target_is_number = true}), ErrorCode::malformed,
               "line 2, column y: expected a number, is \"a\"");
  EXPECT_ERROR(csv_table("x,y\n1,nan\n", "t", {.target = "y", .target_is_number = true}), ErrorCode::malformed,
               "expected a number, is \"nan\"");
  std::string many = "x,y\n";
  for (int i = 0; i < 1500; ++i) many += std::to_string(i) + (i == 700 ? "kg" : "") + ",a\n";
  EXPECT_ERROR(csv_table(many, "t", options), ErrorCode::malformed,
               "line 702, column x: \"700kg\" stands in a category with 1500 different values, at most 1000");
  EXPECT_ERROR(csv_table("x,z\n1,2\n", "t", options), ErrorCode::invalid_argument, "has no column y; it has x, z");
  EXPECT_ERROR(csv_table("x,y\n", "t", options), ErrorCode::malformed, "has no rows below its header");
  EXPECT_ERROR(csv_table("y\n1\n", "t", options), ErrorCode::invalid_argument, "has no column but the target");
}

}  // namespace
}  // namespace coterie
