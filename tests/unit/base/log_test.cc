#include "base/log.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace coterie {
namespace {

std::string line(std::initializer_list<LogField> fields, std::string_view event = "e") {
  return to_json_line(LogLevel::info, event, std::span(fields.begin(), fields.size()));
}

std::string value_of(LogField field) {
  const std::string text = line({field});
  constexpr std::string_view kBefore = R"({"level":"info","event":"e","k":)";
  EXPECT_TRUE(text.starts_with(kBefore) && text.ends_with("}")) << text;
  return text.substr(kBefore.size(), text.size() - kBefore.size() - 1);
}

TEST(JsonLine, IsLevelEventThenTheFieldsInOrder) {
  EXPECT_EQ(line({}), R"({"level":"info","event":"e"})");
  EXPECT_EQ(line({{"b", 1}, {"a", "x"}}, "round_opened"), R"({"level":"info","event":"round_opened","b":1,"a":"x"})");
}

TEST(JsonLine, NamesEveryLevel) {
  EXPECT_EQ(to_json_line(LogLevel::debug, "e", {}), R"({"level":"debug","event":"e"})");
  EXPECT_EQ(to_json_line(LogLevel::warning, "e", {}), R"({"level":"warning","event":"e"})");
  EXPECT_EQ(to_json_line(LogLevel::error, "e", {}), R"({"level":"error","event":"e"})");
}

TEST(JsonLine, WritesEachTypeAsItsJsonForm) {
  EXPECT_EQ(value_of({"k", true}), "true");
  EXPECT_EQ(value_of({"k", false}), "false");
  EXPECT_EQ(value_of({"k", uint8_t{255}}), "255");
  EXPECT_EQ(value_of({"k", std::numeric_limits<uint64_t>::max()}), "18446744073709551615");
  EXPECT_EQ(value_of({"k", std::numeric_limits<int64_t>::min()}), "-9223372036854775808");
  EXPECT_EQ(value_of({"k", 0.1}), "0.1") << "the shortest text that reads back as the same double";
  EXPECT_EQ(value_of({"k", 1e300}), "1e+300");
  EXPECT_EQ(value_of({"k", std::string("text")}), R"("text")");
  EXPECT_EQ(value_of({"k", "literal"}), R"("literal")") << "a literal is text, not a bool";
}

TEST(JsonLine, HasNoNumberForWhatJsonHasNone) {
  EXPECT_EQ(value_of({"k", std::numeric_limits<double>::quiet_NaN()}), "null");
  EXPECT_EQ(value_of({"k", std::numeric_limits<double>::infinity()}), "null");
  EXPECT_EQ(value_of({"k", -std::numeric_limits<double>::infinity()}), "null");
}

TEST(JsonLine, EscapesQuotesBackslashesAndControls) {
  EXPECT_EQ(value_of({"k", "a\"b\\c"}), R"("a\"b\\c")");
  EXPECT_EQ(value_of({"k", "\n\t\r\x01\x1f"}), R"("\u000a\u0009\u000d\u0001\u001f")");
  EXPECT_EQ(value_of({"k", std::string_view("\0", 1)}), R"("\u0000")");
  EXPECT_EQ(value_of({"k", "\x7f/"}), "\"\x7f/\"");
}

TEST(JsonLine, EscapesKeysAndEventsToo) {
  EXPECT_EQ(line({{"a\"b", 1}}, "x\ny"), R"({"level":"info","event":"x\u000ay","a\"b":1})");
}

TEST(JsonLine, PassesUtf8Through) { EXPECT_EQ(value_of({"k", "Zürich 東京 🚀"}), "\"Zürich 東京 🚀\""); }

// What a hostile peer sends as "text" must not make a log line that no JSON reader takes.
TEST(JsonLine, ReplacesBytesThatAreNotUtf8) {
  const std::string_view bad[] = {
      "\x80",              // a continuation without its beginning
      "\xff",              //
      "\xc3",              // cut short
      "\xc0\xaf",          // '/' in two bytes: overlong
      "\xe0\x80\x80",      // overlong
      "\xed\xa0\x80",      // a surrogate
      "\xf0\x80\x80\x80",  // overlong
      "\xf4\x90\x80\x80",  // beyond U+10FFFF
      "\xe2\x82",          // cut short
  };
  for (const std::string_view text : bad) {
    std::string expected;
    for (size_t i = 0; i < text.size(); ++i) expected += "\\ufffd";
    EXPECT_EQ(value_of({"k", text}), "\"" + expected + "\"");
  }
  EXPECT_EQ(value_of({"k", "a\xc3(b"}), "\"a\\ufffd(b\"") << "what follows is kept";
  EXPECT_EQ(value_of({"k", "\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"}),
            "\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"")
      << "the first and last of each length are good";
}

std::vector<std::string>* g_lines = nullptr;

TEST(Log, GoesToTheInstalledSinkAndNowhereWithoutOne) {
  std::vector<std::string> lines;
  g_lines = &lines;
  log(LogLevel::info, "before");
  set_log_sink([](LogLevel level, std::string_view event, std::span<const LogField> fields) {
    g_lines->push_back(to_json_line(level, event, fields));
  });
  log(LogLevel::error, "during", {{"round", 3u}});
  set_log_sink(nullptr);
  log(LogLevel::info, "after");
  g_lines = nullptr;
  EXPECT_EQ(lines, (std::vector<std::string>{R"({"level":"error","event":"during","round":3})"}));
}

TEST(Log, NamesTheInnermostTraceOfItsThread) {
  std::vector<std::string> lines;
  g_lines = &lines;
  set_log_sink([](LogLevel level, std::string_view event, std::span<const LogField> fields) {
    g_lines->push_back(to_json_line(level, event, fields));
  });
  {
    const LogTrace outer("aa");
    {
      const LogTrace inner("bb");
      log(LogLevel::info, "in", {{"k", 1u}});
    }
    std::thread([] { log(LogLevel::info, "elsewhere"); }).join();
    log(LogLevel::info, "out");
  }
  log(LogLevel::info, "behind");
  set_log_sink(nullptr);
  g_lines = nullptr;
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                R"({"level":"info","event":"in","k":1,"trace_id":"bb"})", R"({"level":"info","event":"elsewhere"})",
                R"({"level":"info","event":"out","trace_id":"aa"})", R"({"level":"info","event":"behind"})"}));
}

}  // namespace
}  // namespace coterie
