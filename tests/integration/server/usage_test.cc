// What fl_server prints of itself.
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "tests/support/paths.h"
#include "tests/unit/tools/terminal_width.h"

namespace coterie::integration {
namespace {

struct Printed {
  int exit_code = -1;
  std::string text;  // both streams
};

Printed fl_server(const std::string& arguments) {
  Printed printed;
  std::FILE* pipe = ::popen(("'" + test::bin_dir() + "/fl_server' " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return printed;
  char piece[4096];
  while (const size_t count = std::fread(piece, 1, sizeof piece, pipe)) printed.text.append(piece, count);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) printed.exit_code = WEXITSTATUS(status);
  return printed;
}

TEST(ServerUsage, HelpFitsATerminal) {
  const Printed help = fl_server("--help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.text.find("Usage: fl_server"), std::string::npos) << help.text;
  test::expect_80_columns(help.text);
}

TEST(ServerUsage, AnOptionThatIsNoneIsAMistake) {
  const Printed wrong = fl_server("--role nobody");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.text.find("nobody"), std::string::npos) << wrong.text;
}

}  // namespace
}  // namespace coterie::integration
