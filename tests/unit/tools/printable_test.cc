// Names come from foreign files; a terminal obeys what is in them.
#include <gtest/gtest.h>

#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/demo/svg.h"

namespace coterie {
namespace {

TEST(Printable, LeavesTextAsItIs) {
  for (const std::string_view text : {"", "conv1.weight", "größe", "重み", "\xf0\x9f\x99\x82", "\xc2\xa0"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, TakesAwayWhatCommandsATerminal) {
  EXPECT_EQ(printable("Ev\x1b[31mil\x1b]0;pwned\x07\n\x7f"), "Ev?[31mil?]0;pwned???");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31mb"),
            "a??31mb");  // CSI in one character
}

TEST(Printable, TakesAwayWhatIsNotUtf8) {
  EXPECT_EQ(printable("\x9b"
                      "a"),
            "?a");
  EXPECT_EQ(printable("\xc3"), "?");
  EXPECT_EQ(printable("\xe4"
                      "a"),
            "?a");
  EXPECT_EQ(printable("\xc0\x9b"), "??");            // ESC, too long
  EXPECT_EQ(printable("\xed\xa0\x80"), "???");       // half of a pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????");  // beyond the last
}

// A name such as "a\u202egnp.exe" passes for another; a line that it is in is read from its end.
TEST(Printable, TakesAwayWhatTurnsTextAround) {
  for (const std::string_view mark : {"\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202b", "\u202c",
                                      "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"}) {
    EXPECT_EQ(printable("a" + std::string(mark) + "b"), "a" + std::string(mark.size(), '?') + "b");
  }
  for (const std::string_view text : {"שלום", "مرحبا", "\u2010", "\u2030", "\u2065", "\u206a"}) {
    EXPECT_EQ(printable(text), text) << "letters that go from right to left turn nothing else";
  }
}

TEST(Printable, IsWhatAPageHas) { EXPECT_EQ(xml_escaped("<a>\u202e\x9b\n"), "&lt;a&gt;?????"); }

TEST(Printable, IsWhatAnErrorIs) {
  testing::internal::CaptureStderr();
  print_error("model convert", Error(ErrorCode::invalid_argument, "operator Ev\x1b[31mil"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "coterie model convert: operator Ev?[31mil\n");
}

// A server that lists mistakes has one a line.
TEST(Printable, AnErrorMayHaveSeveralLines) {
  testing::internal::CaptureStderr();
  print_error("job create", Error(ErrorCode::invalid_argument, "not so\n  /a: x\x1b\ncoterie job create: done\n"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "coterie job create: not so\n  /a: x?\n  coterie job create: done\n");
}

}  // namespace
}  // namespace coterie
