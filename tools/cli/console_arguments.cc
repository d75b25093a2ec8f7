// coterie console: its grammar.
#include <memory>

#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/console/run_console.h"

namespace coterie {
namespace {

constexpr const char* kExamples =
    "  coterie console --run runs/demo-20261121-063000\n"
    "  coterie console --run sweep           all runs of a sweep, as it goes on\n"
    "  coterie console --run runs --port 8600\n"
    "                        whatever demo, simulate and sweep have left in runs/\n\n"
    "The page shows loss, accuracy, rounds and settings, and compares runs. What is\n"
    "not written yet comes by itself. It listens on 127.0.0.1 alone, asks for no\n"
    "password, changes nothing and reads nothing outside of DIR.\n\n"
    "Exit codes: 1 failed, 2 usage or no such folder, 130 interrupted.";

}  // namespace

void add_console(CLI::App& app, Invocation& invocation) {
  CLI::App* console = add_command(app, "console", "the console's page over runs on this machine", kExamples);
  const auto options = std::make_shared<RunConsoleOptions>();
  console->add_option("--run", options->folder, "what demo, simulate or sweep left, or a folder with several")
      ->type_name("DIR")
      ->required();
  console->add_option("--port", options->port, "of 127.0.0.1; 0 lets the system choose")
      ->capture_default_str()
      ->check(between<uint16_t>(0, 65535));
  console->callback([&invocation, options] { invocation.run = [options] { return run_console(*options); }; });
}

}  // namespace coterie
