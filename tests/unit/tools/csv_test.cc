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
std::vector<T> numbers_of(ByteView column) {
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
  EXPECT_ERROR(csv_table("x,y\n1,a\n\n,b\n", "t", {.target = "y", .refuses_missing = true}), ErrorCode::malformed,
               "line 4, column x: is empty, expected a number");
  EXPECT_ERROR(csv_table("x,y\n1,a\n2,\n", "t", options), ErrorCode::malformed,
               "line 3, column y: is empty, expected the target of this row");
  EXPECT_ERROR(csv_table("x,y\n1,a\n1e31,b\n", "t", options), ErrorCode::malformed,
               "line 3, column x: 1e31 is beyond 1e30");
  EXPECT_ERROR(csv_table("x,x,y\n1,2,a\n", "t", options), ErrorCode::malformed,
               "line 1: the header names column x twice");
  EXPECT_ERROR(csv_table("x,y\n1,a\n", "t", {.target = "y", .dropped = {"z"}}), ErrorCode::invalid_argument,
               "has no column z; it has x, y");
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

TEST(Csv, GuessesWhetherATargetIsAClassOrANumber) {
  const auto is_number = [](const std::string& targets) {
    const auto rows = CsvRows::parse("x,y\n" + targets);
    EXPECT_OK(rows);
    const auto target = csv_target(*rows, {.target = "y"});
    EXPECT_OK(target);
    return target->is_number;
  };
  EXPECT_FALSE(is_number("1,0\n1,1\n"));
  EXPECT_FALSE(is_number("1,a\n1,1.5\n"));
  EXPECT_TRUE(is_number("1,0.5\n1,1\n"));
  std::string twenty, more;
  for (int i = 0; i < 21; ++i) (i < 20 ? twenty : more) += "1," + std::to_string(i) + "\n";
  EXPECT_FALSE(is_number(twenty));
  EXPECT_TRUE(is_number(twenty + more));
}

// The scale is of the rows it is fitted on, and the same for all.
TEST(Csv, FitsOnSomeRowsAndEncodesAll) {
  const auto rows = CsvRows::parse("x,c,k,y\n1,u,7,a\n3,v,7,b\n,w,7,a\n99,u,8,b\n");
  ASSERT_OK(rows);
  const CsvOptions options{.target = "y"};
  const uint32_t fitted[] = {0, 1, 2};
  const auto contract = fit_csv(*rows, options, {*csv_target(*rows, options)}, fitted);
  ASSERT_OK(contract);
  ASSERT_EQ(contract->columns.size(), 3u);
  EXPECT_EQ(contract->columns[0].mean, 2);
  EXPECT_EQ(contract->columns[0].deviation, 1);
  EXPECT_EQ(contract->columns[0].missing, 1u);
  EXPECT_THAT(contract->columns[1].values, ElementsAre("u", "v", "w"));
  EXPECT_EQ(contract->columns[2].deviation, 0) << "constant";
  std::vector<std::string> notes;
  const auto table = encode_csv(*rows, *contract, notes);
  ASSERT_OK(table);
  // x, whether x is missing, u, v, w, k
  EXPECT_THAT(numbers_of<float>(table->columns[0]), ElementsAre(-1, 0, 1, 0, 0, 0,  //
                                                                1, 0, 0, 1, 0, 0,   //
                                                                0, 1, 0, 0, 1, 0,   //
                                                                97, 0, 1, 0, 0, 0));
  EXPECT_THAT(notes, ElementsAre("column x: 1 value is missing, taken as the mean"));
}

TEST(Csv, GivesWhatTheFitDidNotSeeNoCategory) {
  const auto before = CsvRows::parse("c,y\nu,a\nv,b\n"), later = CsvRows::parse("extra,y,c\n1,b,w\n2,a,v\n");
  const uint32_t all[] = {0, 1};
  CsvOptions options{.target = "y"};
  const auto contract = fit_csv(*before, options, {*csv_target(*before, options)}, all);
  ASSERT_OK(contract);
  std::vector<std::string> notes;
  const auto table = encode_csv(*later, *contract, notes);
  ASSERT_OK(table);
  EXPECT_THAT(numbers_of<float>(table->columns[0]), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(table->labels(), ElementsAre(1, 0));
  EXPECT_THAT(notes, ElementsAre("column c: 1 field has a value that the fit did not see, taken as none"));
  EXPECT_ERROR(encode_csv(*CsvRows::parse("c,y\nu,z\n"), *contract, notes), ErrorCode::malformed,
               "line 2, column y: \"z\" is none of the 2 classes: a, b");
  EXPECT_ERROR(encode_csv(*CsvRows::parse("d,y\nu,a\n"), *contract, notes), ErrorCode::invalid_argument,
               "has no column c; it has d, y");
  options.one_hot = false;
  const auto coded = fit_csv(*before, options, {*csv_target(*before, options)}, all);
  ASSERT_OK(coded);
  EXPECT_ERROR(encode_csv(*later, *coded, notes), ErrorCode::malformed,
               "line 2, column c: \"w\" is none of the 2 values");
}

TEST(Csv, LeavesColumnsOutAndTakesNumbersAsNames) {
  const auto table = csv_table("id,zip,x,y\n1,9,5,a\n2,10,5,b\n3,9,5,a\n", "t",
                               {.target = "y", .dropped = {"id"}, .categories = {"zip"}});
  ASSERT_OK(table);
  EXPECT_THAT(numbers_of<float>(table->columns[0]), ElementsAre(1, 0, 0, 0, 1, 0, 1, 0, 0));
}

TEST(Csv, GivesTextsAsTheirBytes) {
  const auto rows = CsvRows::parse("n,word,y\n3,ab,u\n5,\"h\xc3\xa9llo\",v\n4,,u\n");
  const CsvOptions options{.target = "y", .texts = {"word"}, .text_bytes = 3};
  const uint32_t all[] = {0, 1, 2};
  const auto contract = fit_csv(*rows, options, {*csv_target(*rows, options)}, all);
  ASSERT_OK(contract);
  std::vector<std::string> notes;
  const auto table = encode_csv(*rows, *contract, notes);
  ASSERT_OK(table);
  EXPECT_THAT(table->header.inputs[0].shape, ElementsAre(4));
  const std::vector<float> numbers = numbers_of<float>(table->columns[0]);
  EXPECT_THAT(std::vector<float>(numbers.begin() + 1, numbers.begin() + 4), ElementsAre('a', 'b', 0));
  EXPECT_THAT(std::vector<float>(numbers.begin() + 5, numbers.begin() + 8), ElementsAre('h', 0xc3, 0xa9));
  EXPECT_THAT(std::vector<float>(numbers.begin() + 9, numbers.end()), ElementsAre(0, 0, 0));
  EXPECT_THAT(notes, ElementsAre("column word: 1 text is longer than 3 bytes, and cut to that"));
  const auto again = parse_contract(to_json_text(*contract));
  ASSERT_OK(again);
  EXPECT_EQ(*again, *contract);
  std::string larger = to_json_text(*contract);
  larger.replace(larger.find("\"bytes\": 3"), 10, "\"bytes\": 65");
  EXPECT_ERROR(parse_contract(larger), ErrorCode::malformed, "/columns/1/bytes: expected 1 to 64");
  EXPECT_ERROR(csv_table("x,y\n1,2\n", "t", {.target = "y", .texts = {"z"}}), ErrorCode::invalid_argument,
               "has no column z");
}

TEST(InputContract, IsReadAsItIsWritten) {
  const auto rows = CsvRows::parse("x,c,y\n0.1,\"a, \"\"b\"\"\",1.5\n?,é,2\n");
  const CsvOptions options{.target = "y", .standardise = false, .one_hot = false};
  const uint32_t all[] = {0, 1};
  const auto contract = fit_csv(*rows, options, {*csv_target(*rows, options)}, all);
  ASSERT_OK(contract);
  const auto again = parse_contract(to_json_text(*contract));
  ASSERT_OK(again);
  EXPECT_EQ(*again, *contract);
}

TEST(InputContract, SaysWhereItIsWrong) {
  const auto rows = CsvRows::parse("x,c,y\n1,u,a\n2,v,b\n");
  const uint32_t all[] = {0, 1};
  const CsvOptions options{.target = "y"};
  const std::string good = to_json_text(*fit_csv(*rows, options, {*csv_target(*rows, options)}, all));
  const auto changed = [&good](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return parse_contract(text.replace(at, from.size(), to));
  };
  EXPECT_ERROR(parse_contract("{"), ErrorCode::malformed, "is not JSON");
  EXPECT_ERROR(parse_contract("[]"), ErrorCode::malformed, "expected an object");
  EXPECT_ERROR(changed("contract.v1", "contract.v2"), ErrorCode::unsupported_version, "/schema: expected");
  EXPECT_ERROR(changed("\"mean\": 1.5", "\"mean\": \"1\""), ErrorCode::malformed, "/columns/0/mean: expected a number");
  EXPECT_ERROR(changed("\"deviation\": 0.5", "\"deviation\": -1"), ErrorCode::malformed, "/columns/0/deviation");
  EXPECT_ERROR(changed("\"kind\": \"category\"", "\"kind\": \"bytes\""), ErrorCode::malformed,
               "number, category or text");
  EXPECT_ERROR(changed("\"u\"", "\"w\""), ErrorCode::malformed, "/columns/1/values");
  EXPECT_ERROR(changed("3\n", "4\n"), ErrorCode::malformed, "/inputs: expected the shape that the columns become");
  EXPECT_ERROR(changed("\"a\",", "\"b\","), ErrorCode::malformed,
               "/target/classes: expected at least one class, each once");
}

}  // namespace
}  // namespace coterie
