#include "fl_server/json/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/unit/fl_server/json/problem_list.h"

namespace coterie {
namespace {

using test::pointers_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// One value under the key "x", read as a T that began as `fallback`.
template <typename T>
struct Reading {
  T value;
  Problems problems;
};
template <typename T>
Reading<T> read_x(const char* json_text, T fallback) {
  Reading<T> reading{std::move(fallback), {}};
  const nlohmann::json json = nlohmann::json::parse(json_text);
  JsonReader reader(json, "/at", reading.problems);
  reader.read("x", reading.value);
  reader.finish();
  return reading;
}

template <typename T>
void expect_value(const char* json_text, T fallback, T expected) {
  const Reading<T> reading = read_x<T>(json_text, fallback);
  EXPECT_THAT(reading.problems, IsEmpty()) << json_text;
  EXPECT_EQ(reading.value, expected) << json_text;
}

template <typename T>
void expect_problem(const char* json_text, T fallback, const char* words) {
  const Reading<T> reading = read_x<T>(json_text, fallback);
  ASSERT_EQ(reading.problems.size(), 1u) << json_text;
  EXPECT_EQ(reading.problems[0].pointer, "/at/x") << json_text;
  EXPECT_THAT(reading.problems[0].detail, HasSubstr(words)) << json_text;
  EXPECT_EQ(reading.value, fallback) << json_text << ": the default is kept";
}

TEST(JsonReader, KeepsTheDefaultOfWhatIsAbsent) {
  expect_value<std::string>("{}", "default", "default");
  expect_value<bool>("{}", true, true);
  expect_value<uint16_t>("{}", 7, 7);
  expect_value<uint64_t>("{}", 7, 7);
  expect_value<float>("{}", 0.1f, 0.1f);
  expect_value<double>("{}", 0.1, 0.1);
  expect_value<Millis>("{}", Millis(5), Millis(5));
  expect_value<std::optional<Digest>>("{}", std::nullopt, std::nullopt);
  expect_value<std::vector<std::string>>("{}", {"a"}, {"a"});
}

TEST(JsonReader, TakesEveryValueOfItsTypeToTheVeryEnd) {
  expect_value<std::string>(R"({"x": "caf\u00e9"})", "", "caf\xc3\xa9");
  expect_value<bool>(R"({"x": false})", true, false);
  expect_value<uint16_t>(R"({"x": 0})", 7, 0);
  expect_value<uint16_t>(R"({"x": 65535})", 7, 65535);
  expect_value<uint32_t>(R"({"x": 4294967295})", 7, UINT32_MAX);
  expect_value<uint64_t>(R"({"x": 18446744073709551615})", 7, UINT64_MAX);
  expect_value<Millis>(R"({"x": 4294967295})", Millis(5), Millis(4294967295));
  expect_value<std::optional<int32_t>>(R"({"x": -2147483648})", {}, INT32_MIN);
  expect_value<std::optional<int32_t>>(R"({"x": 2147483647})", {}, INT32_MAX);
  expect_value<double>(R"({"x": -1e308})", 0, -1e308);
  expect_value<double>(R"({"x": 3})", 0, 3);
  expect_value<float>(R"({"x": 0.1})", 0, 0.1f);
  expect_value<float>(R"({"x": 3.4028235e38})", 0, std::numeric_limits<float>::max());
  expect_value<float>(R"({"x": -3.4028234663852886e38})", 0, std::numeric_limits<float>::lowest());
  expect_value<std::vector<std::string>>(R"({"x": []})", {"a"}, {});
  expect_value<std::vector<std::string>>(R"({"x": ["b", "c"]})", {"a"}, {"b", "c"});
}

TEST(JsonReader, NamesThePlaceOfAValueOfAnotherTypeAndKeepsTheDefault) {
  for (const char* json : {R"({"x": 1.5})", R"({"x": "255"})", R"({"x": 2147483648})", R"({"x": -2147483649})",
                           R"({"x": 18446744073709551615})"}) {
    expect_problem<std::optional<int32_t>>(json, 7, "an integer of 32 bits");
  }
  expect_problem<std::string>(R"({"x": 1})", "d", "must be a string");
  expect_problem<std::string>(R"({"x": null})", "d", "must be a string");
  expect_problem<bool>(R"({"x": 1})", true, "must be true or false");
  expect_problem<bool>(R"({"x": "true"})", false, "must be true or false");
  expect_problem<uint16_t>(R"({"x": 65536})", 7, "must be an integer in [0, 65535]");
  expect_problem<uint16_t>(R"({"x": -1})", 7, "must be an integer in [0, 65535]");
  expect_problem<uint16_t>(R"({"x": 1.0})", 7, "must be an integer in [0, 65535]");
  expect_problem<uint16_t>(R"({"x": "1"})", 7, "must be an integer in [0, 65535]");
  expect_problem<uint32_t>(R"({"x": 4294967296})", 7, "must be an integer in [0, 4294967295]");
  expect_problem<uint64_t>(R"({"x": 18446744073709551616})", 7, "must be an integer in [0, 18446744073709551615]");
  expect_problem<Millis>(R"({"x": 4294967296})", Millis(5), "must be an integer");
  expect_problem<Millis>(R"({"x": 0.5})", Millis(5), "must be an integer");
  expect_problem<double>(R"({"x": "0.5"})", 2.0, "must be a number");
  expect_problem<double>(R"({"x": true})", 2.0, "must be a number");
  expect_problem<float>(R"({"x": []})", 2.0f, "must be a number");
  expect_problem<std::vector<std::string>>(R"({"x": "a"})", {"d"}, "must be a list of strings");
  expect_problem<std::vector<std::string>>(R"({"x": ["a", 1]})", {"d"}, "must be a list of strings");
}

// An infinity cannot be written as JSON again: whoever stored it could not read it back.
TEST(JsonReader, DoesNotTakeANumberThatIsInfiniteAsAFloat) {
  expect_problem<float>(R"({"x": 1e300})", 2.0f, "must be a number in [-3.4e38, 3.4e38]");
  expect_problem<float>(R"({"x": 3.4028236e38})", 2.0f, "must be a number in [-3.4e38, 3.4e38]");
  expect_problem<float>(R"({"x": -1e39})", 2.0f, "must be a number in [-3.4e38, 3.4e38]");
}

TEST(JsonReader, TakesADigestInLowerCaseOnly) {
  const std::string digits = "00ff" + std::string(60, 'a');
  const Digest digest = Digest::from_hex(digits).value();
  expect_value<Digest>((R"({"x": ")" + digits + R"("})").c_str(), {}, digest);
  expect_value<std::optional<Digest>>((R"({"x": ")" + digits + R"("})").c_str(), std::nullopt, digest);
  for (const std::string& bad :
       {std::string(64, 'A'), std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'g')}) {
    expect_problem<Digest>((R"({"x": ")" + bad + R"("})").c_str(), digest, "64 lower-case hexadecimal digits");
    expect_problem<std::optional<Digest>>((R"({"x": ")" + bad + R"("})").c_str(), std::nullopt, "64 lower-case");
  }
  expect_problem<Digest>(R"({"x": 12})", digest, "must be a digest");
  expect_problem<std::optional<Digest>>(R"({"x": null})", std::nullopt, "must be a digest");
}

TEST(JsonReader, ListsTheNamesThatAChoiceHas) {
  const auto choose = [](const char* json_text, size_t& index) {
    Problems problems;
    const nlohmann::json json = nlohmann::json::parse(json_text);
    JsonReader(json, "", problems).read_choice("kind", {"sgd", "adam"}, index);
    return problems;
  };
  size_t index = 0;
  EXPECT_THAT(choose(R"({"kind": "adam"})", index), IsEmpty());
  EXPECT_EQ(index, 1u);
  EXPECT_THAT(choose("{}", index), IsEmpty());
  EXPECT_EQ(index, 1u) << "absent: as it was";
  EXPECT_THAT(choose(R"({"kind": "Adam"})", index), ElementsAre(Problem{"/kind", "must be one of: sgd, adam"}));
  EXPECT_THAT(choose(R"({"kind": 1})", index), ElementsAre(Problem{"/kind", "must be one of: sgd, adam"}));
  EXPECT_EQ(index, 1u);
}

TEST(JsonReader, ReportsWhateverWasNotAskedForAsUnknown) {
  Problems problems;
  const nlohmann::json json =
      nlohmann::json::parse(R"({"known": 1, "inner": {"ok": 1, "od": 2}, "knwon": 3, "other": 4})");
  JsonReader reader(json, "", problems);
  uint32_t value = 0;
  reader.read("known", value);
  JsonReader inner = reader.object("inner");
  inner.read("ok", value);
  inner.finish();
  reader.finish();
  EXPECT_THAT(problems,
              ElementsAre(Problem{"/inner/od", "unknown key; did you mean `ok`?"},
                          Problem{"/knwon", "unknown key; did you mean `known`?"}, Problem{"/other", "unknown key"}));
}

TEST(JsonReader, WritesKeysInPointersAsRfc6901Does) {
  Problems problems;
  const nlohmann::json json = nlohmann::json::parse(R"({"a/b": 1, "c~d": 2, "": 3, "e\u0000f": 4})");
  JsonReader reader(json, "", problems);
  reader.finish();
  EXPECT_THAT(pointers_of(problems), ElementsAre("/", "/a~1b", "/c~0d", std::string("/e\0f", 4)));
}

TEST(JsonReader, TakesAnAbsentObjectAsEmptyAndAnythingElseAsOneProblem) {
  for (const char* text : {"{}", R"({"inner": {}})"}) {
    Problems problems;
    const nlohmann::json json = nlohmann::json::parse(text);
    JsonReader reader(json, "", problems);
    reader.object("inner").finish();
    reader.finish();
    EXPECT_THAT(problems, IsEmpty()) << text;
  }
  for (const char* text : {R"({"inner": []})", R"({"inner": null})", R"({"inner": 1})", R"({"inner": "{}"})"}) {
    Problems problems;
    const nlohmann::json json = nlohmann::json::parse(text);
    JsonReader reader(json, "", problems);
    JsonReader inner = reader.object("inner");
    uint32_t value = 7;
    inner.read("x", value);
    inner.finish();
    reader.finish();
    EXPECT_THAT(problems, ElementsAre(Problem{"/inner", "must be an object"})) << text;
    EXPECT_EQ(value, 7u);
  }
}

TEST(JsonReader, SaysWhatIsRequired) {
  Problems problems;
  const nlohmann::json json = nlohmann::json::parse(R"({"there": null})");
  JsonReader reader(json, "/job", problems);
  reader.require("there");
  reader.require("missing");
  EXPECT_THAT(problems, ElementsAre(Problem{"/job/missing", "is required"}));
}

// ---- Text to JSON

TEST(ParseJson, GivesTheValueOrOneProblemWithThePlace) {
  Problems problems;
  const auto json = parse_json(R"({"a": [1, 2]})", problems);
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ((*json)["a"][1], 2);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_FALSE(parse_json("{\n \"a\": nul}", problems).has_value());
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "");
  EXPECT_THAT(problems[0].detail, HasSubstr("line 2"));
  EXPECT_THAT(problems[0].detail, Not(HasSubstr("json.exception"))) << "no name of a class";
}

TEST(ParseJson, RefusesWhatIsNotJson) {
  const std::string_view bad[] = {"",
                                  " ",
                                  "{",
                                  "}",
                                  "{]",
                                  "[1,]",
                                  "{\"a\":1,}",
                                  "{'a':1}",
                                  "{a:1}",
                                  "01",
                                  "+1",
                                  "1.",
                                  ".5",
                                  "0x10",
                                  "NaN",
                                  "Infinity",
                                  "-Infinity",
                                  "1e999",
                                  "nul",
                                  "TRUE",
                                  "\"",
                                  "\"\\x\"",
                                  "\"\t\"",
                                  "\"\\ud800\"",
                                  "\"\xff\"",
                                  "\"\xc0\xaf\"",
                                  "// no\n{}",
                                  "{} {}",
                                  "{}x",
                                  std::string_view("{}\0", 3),
                                  std::string_view("{\0}", 3)};
  for (std::string_view text : bad) {
    Problems problems;
    EXPECT_FALSE(parse_json(text, problems).has_value()) << text;
    EXPECT_EQ(problems.size(), 1u) << text;
  }
}

TEST(ParseJson, RefusesAKeyThatIsTwiceInOneObject) {
  for (const char* text : {R"({"a": 1, "a": 1})", R"({"privacy": {"level": "active"}, "privacy": {"level": "none"}})",
                           R"([{"x": [{"b": 1, "c": {}, "b": 2}]}])", R"({"a": 1, "\u0061": 2})"}) {
    Problems problems;
    EXPECT_FALSE(parse_json(text, problems).has_value()) << text;
    ASSERT_EQ(problems.size(), 1u) << text;
    EXPECT_NE(problems[0].detail.find("twice in one object"), std::string::npos) << problems[0].detail;
  }
  Problems problems;
  EXPECT_TRUE(parse_json(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]})", problems).has_value()) << "objects are apart";
}

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(ParseJson, LimitsTheDepthTo32) {
  Problems problems;
  EXPECT_TRUE(parse_json(nested(32), problems).has_value());
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_FALSE(parse_json(nested(33), problems).has_value());
  EXPECT_THAT(problems, ElementsAre(Problem{"", "is nested more than 32 levels deep"}));
}

TEST(ParseJson, SurvivesHundredsOfThousandsOfBrackets) {
  for (const char* open : {"[", "{\"a\":"}) {
    std::string text;
    for (size_t i = 0; i < 200'000; ++i) text += open;
    Problems problems;
    EXPECT_FALSE(parse_json(text, problems).has_value());
    EXPECT_EQ(problems.size(), 1u);
  }
  Problems problems;
  EXPECT_FALSE(parse_json(nested(500'000), problems).has_value());
  EXPECT_EQ(problems.size(), 1u);
}

}  // namespace
}  // namespace coterie
