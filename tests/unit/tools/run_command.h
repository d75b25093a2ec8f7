// A command of the `coterie` program, run in the test's own process.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/cli/command_line.h"

namespace coterie::test {

struct CommandOutcome {
  ExitCode code = ExitCode::usage;
  std::string out, err;
};

// `words` are the arguments, without the program's name. What the parser says of wrong ones is in err, with
// usage.
inline CommandOutcome run_command(const std::vector<std::string>& words) {
  Invocation invocation;
  const Parsed parsed = parse_command_line(words, invocation);
  if (!parsed.runs) return {ExitCode::usage, "", parsed.text};
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const ExitCode code = invocation.run();
  return {code, ::testing::internal::GetCapturedStdout(), ::testing::internal::GetCapturedStderr()};
}

}  // namespace coterie::test
