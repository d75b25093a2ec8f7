#include "tools/cli/line_input.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

// What is read of `text`, the end of the input behind it.
std::vector<std::string> lines_of(const std::string& text, size_t bytes_max) {
  int pipe_ends[2];
  EXPECT_EQ(::pipe(pipe_ends), 0);
  EXPECT_EQ(::write(pipe_ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(pipe_ends[1]);
  LineInput input(pipe_ends[0], bytes_max);
  std::vector<std::string> lines;
  for (;;) {
    const Result<std::optional<std::string>> line = input.next();
    EXPECT_OK(line);
    if (!line || !*line) break;
    lines.push_back(**line);
  }
  ::close(pipe_ends[0]);
  return lines;
}

TEST(LineInput, GivesLinesAndTheRest) {
  EXPECT_EQ(lines_of("a\n\nbc\nd", 10), (std::vector<std::string>{"a", "", "bc", "d"}));
  EXPECT_TRUE(lines_of("", 10).empty());
}

TEST(LineInput, ALongLineIsSeenToBeTooLongAndTheNextIsWhole) {
  const std::vector<std::string> lines = lines_of(std::string(20'000, 'x') + "\nquit\n", 4096);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_GT(lines[0].size(), 4096u);
  EXPECT_LE(lines[0].size(), 2 * 4096u + 1) << "no more is kept than that takes";
  EXPECT_EQ(lines[1], "quit");
}

}  // namespace
}  // namespace coterie::test
