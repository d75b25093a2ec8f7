// coterie: the command line.
#include <cstdio>
#include <string>
#include <vector>

#include "tools/cli/command_line.h"
#include "tools/cli/interrupt.h"

int main(int argc, char** argv) {
  using namespace coterie;
  Invocation invocation;
  invocation.program = argc > 0 ? argv[0] : "coterie";
  const Parsed parsed = parse_command_line({argv + (argc > 0 ? 1 : 0), argv + argc}, invocation);
  if (!parsed.runs) {
    std::fputs(parsed.text.c_str(), parsed.is_error ? stderr : stdout);
    return static_cast<int>(parsed.is_error ? ExitCode::usage : ExitCode::ok);
  }
  Interrupt::install();
  return static_cast<int>(invocation.run());
}
