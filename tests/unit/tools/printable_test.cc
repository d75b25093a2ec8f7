// Names come from foreign files; a terminal obeys what is in them.
#include <gtest/gtest.h>

#include "tools/cli/report.h"
#include "tools/cli/table.h"

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

TEST(Printable, IsWhatAnErrorIs) {
  testing::internal::CaptureStderr();
  print_error("model convert", Error(ErrorCode::invalid_argument, "operator Ev\x1b[31mil"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "coterie model convert: operator Ev?[31mil\n");
}

}  // namespace
}  // namespace coterie
