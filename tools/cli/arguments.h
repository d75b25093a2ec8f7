// The grammar of the command line, by subject. Each function adds its subcommands to `app`; parsing then leaves in
// Invocation::run what is to be done. The only files that know CLI11.
#pragma once

#include <functional>
#include <string>

#include "tools/cli/admin_command.h"
#include "tools/cli/exit_code.h"

namespace CLI {
class App;
}

namespace coterie {

struct Invocation {
  std::string program;             // as the user called it
  AdminCommand admin;              // the connection, shared by all commands
  std::function<ExitCode()> run;   // set by the subcommand that was named
};

// `invocation` outlives `app`.
void add_demo(CLI::App& app, Invocation& invocation);
void add_job(CLI::App& app, Invocation& invocation);
void add_model(CLI::App& app, Invocation& invocation);
void add_device(CLI::App& app, Invocation& invocation);
void add_token(CLI::App& app, Invocation& invocation);
void add_server(CLI::App& app, Invocation& invocation);

// -o, --output table|json
void add_output_option(CLI::App& app, AdminCommand& command);

}  // namespace coterie
