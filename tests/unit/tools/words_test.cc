// What the command line shows to people: suggestions, tables, numbers, lines cut to a terminal's width.
#include <gmock/gmock.h>

#include <cmath>

#include "base/text/suggest.h"
#include "tools/cli/table.h"
#include "tools/cli/terminal.h"

namespace coterie {
namespace {

const std::vector<std::string> kVerbs = {"create", "list", "show", "rounds", "watch", "pause", "resume", "cancel"};

TEST(Suggest, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("list", "lst"), 1u);
  EXPECT_EQ(edit_distance("lsit", "list"), 1u);
  EXPECT_EQ(edit_distance("lost", "list"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Suggest, FindsTheWordThatWasMeant) {
  EXPECT_EQ(closest_word("lst", kVerbs), "list");
  EXPECT_EQ(closest_word("pasue", kVerbs), "pause");
  EXPECT_EQ(closest_word("canc", kVerbs), "cancel");
  EXPECT_EQ(closest_word("c", kVerbs), "");
  EXPECT_EQ(closest_word("delete", kVerbs), "");
  EXPECT_EQ(closest_word("x", {}), "");
}

TEST(Suggest, EndsTheSentenceWithOrWithoutAnIdea) {
  EXPECT_EQ(did_you_mean("shwo", kVerbs), ". Did you mean `show`?");
  EXPECT_EQ(did_you_mean("frobnicate", kVerbs), ".");
  EXPECT_EQ(or_meant("shwo", kVerbs), "; did you mean `show`?");
  EXPECT_EQ(or_meant("frobnicate", kVerbs), "");
  EXPECT_EQ(listed({"a", "b"}), "a, b");
}

TEST(Table, AlignsColumnsAndLeavesNoBlanksAtTheEnd) {
  Table table({{"NAME"}, {"N", Table::Align::right}, {"NOTE"}});
  table.add({"caf\xc3\xa9", "7", "x"});
  table.add({"a", "1,234", ""});
  EXPECT_EQ(table.text(), "NAME      N  NOTE\ncaf\xc3\xa9      7  x\na     1,234\n");
}

TEST(Table, ShowsNoControlCharacterThatAServerSent) {
  Table table({{"NAME"}});
  table.add({"a\x1b[2Jb\nc\x7f"});
  EXPECT_EQ(table.text(), "NAME\na?[2Jb?c?\n");
}

TEST(ShellWord, IsQuotedWhereAShellWouldReadItOtherwise) {
  EXPECT_EQ(shell_word("runs/demo-1/model.cotf"), "runs/demo-1/model.cotf");
  EXPECT_EQ(shell_word("my run"), "'my run'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("$(rm)"), "'$(rm)'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Numbers, AreWrittenAsPeopleLikeThem) {
  EXPECT_EQ(format_fixed(0.5, 4), "0.5000");
  EXPECT_EQ(format_fixed(INFINITY, 2), "-");
  EXPECT_EQ(format_percent(0.9722), "97.2 %");
  EXPECT_EQ(format_percent(NAN), "-");
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1'234'567), "1,234,567");
  EXPECT_EQ(counted(1, "device"), "1 device");
  EXPECT_EQ(counted(1437, "device"), "1,437 devices");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(154'792), "151 KiB");
  EXPECT_EQ(format_bytes(1'258'291), "1.2 MiB");
}

TEST(Numbers, GiveTimesInTheUnitTheyAreFeltIn) {
  EXPECT_EQ(format_seconds(0.421), "0.42 s");
  EXPECT_EQ(format_seconds(12.34), "12.3 s");
  EXPECT_EQ(format_seconds(185), "3 min 05 s");
  EXPECT_EQ(format_seconds(3600 + 120), "1 h 02 min");
  EXPECT_EQ(format_seconds(NAN), "-");
}

TEST(Terminal, CutsALineByColumnsAndKeepsWhatEndsItsColour) {
  EXPECT_EQ(fit("hello", 3), "hel");
  EXPECT_EQ(fit("hello", 9), "hello");
  EXPECT_EQ(fit("h\xc3\xa9llo", 2), "h\xc3\xa9");
  EXPECT_EQ(fit("\x1b[1mhello\x1b[0m", 2), "\x1b[1mhe\x1b[0m");
  EXPECT_EQ(width_of("\x1b[1mh\xc3\xa9\x1b[0m"), 2);
}

TEST(Terminal, StylesNothingWhereNobodyWantsColours) {
  EXPECT_EQ(Terminal().bold("x"), "x");
  EXPECT_EQ((Terminal{.is_live = true, .has_colour = true}).green("x"), "\x1b[32mx\x1b[0m");
}

}  // namespace
}  // namespace coterie
