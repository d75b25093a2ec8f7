// coterie: the command line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "tools/cli/arguments.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/suggest.h"

namespace {

using namespace coterie;

constexpr const char* kHelp =
    "coterie: federated training, from a demo on this machine to jobs on a server.\n\n"
    "Examples:\n"
    "  coterie demo                            a server, 20 devices and a trained model within a minute\n"
    "  coterie --data-dir ./data job list      jobs of the server that runs on ./data\n";

constexpr const char* kFooter =
    "Exit codes: 0 ok, 1 failed, 2 usage or bad input file, 3 connection settings, 4 network or access, 5 timeout,\n"
    "130 interrupted.";

int code_of(ExitCode code) { return static_cast<int>(code); }

void add_connection_options(CLI::App& app, ConnectionOptions& connection) {
  app.add_option("--data-dir", connection.data_dir, "data directory of a server on this machine (default coterie-data)")->envname("COTERIE_DATA_DIR");
  app.add_option("--admin-url", connection.admin_url, "or: URL of its admin plane")->envname("COTERIE_ADMIN_URL");
  app.add_option("--ca", connection.ca_file, "certificates to trust")->envname("COTERIE_CA_FILE");
  app.add_option("--token-file", connection.token_file, "file with the operator's token")->envname("COTERIE_TOKEN_FILE");
}

bool takes_value(const CLI::App& app, const std::string& option) {
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    if (const CLI::Option* found = at->get_option_no_throw(option)) return found->get_items_expected_max() > 0;
  }
  return false;
}

std::vector<std::string> names_of(const std::vector<CLI::App*>& apps) {
  std::vector<std::string> names;
  for (const CLI::App* app : apps) names.push_back(app->get_name());
  return names;
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string did_you_mean(const std::string& typed, const std::vector<std::string>& words) {
  const std::string meant = closest_word(typed, words);
  return meant.empty() ? std::string() : " Did you mean `" + meant + "`?";
}

// What is wrong with the words that name subcommands; "" if nothing is. CLI11 would only say that one is required.
std::string check_subcommands(CLI::App& root, const std::vector<std::string>& arguments) {
  CLI::App* at = &root;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--help" || word == "-h" || word == "--version") return {};
    if (word.starts_with("-")) {
      if (word.find('=') == word.npos && takes_value(*at, word)) ++i;
      continue;
    }
    const std::vector<CLI::App*> below = at->get_subcommands({});
    if (below.empty()) return {};
    const auto next = std::find_if(below.begin(), below.end(), [&](const CLI::App* app) { return app->get_name() == word; });
    if (next == below.end()) {
      return "there is no `" + (at == &root ? "" : at->get_name() + " ") + word + "`." +
             did_you_mean(word, names_of(below)) + " It is one of: " + listed(names_of(below));
    }
    at = *next;
  }
  const std::vector<CLI::App*> below = at->get_subcommands({});
  if (below.empty() || at == &root) return {};
  return "`" + at->get_name() + "` needs to know what to do; one of: " + listed(names_of(below));
}

// The options a mistyped one could have been.
std::string suggest_option(const CLI::App& root, const std::string& typed) {
  std::vector<std::string> names;
  const CLI::App* at = &root;
  while (at != nullptr) {
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    const std::vector<CLI::App*> chosen = at->get_subcommands();
    at = chosen.empty() ? nullptr : chosen.front();
  }
  return did_you_mean(typed.substr(0, typed.find('=')), names);
}

int explain(const CLI::App& app, const CLI::ParseError& error) {
  std::string message = error.what();
  for (const std::string& extra : app.remaining(true)) {
    if (extra.starts_with("--")) message += "." + suggest_option(app, extra);
  }
  std::fprintf(stderr, "coterie: %s\nTry --help.\n", message.c_str());
  return code_of(ExitCode::usage);
}

}  // namespace

int main(int argc, char** argv) {
  Invocation invocation;
  invocation.program = argc > 0 ? argv[0] : "coterie";
  CLI::App app{kHelp, "coterie"};
  app.footer(kFooter);
  app.set_version_flag("--version", "coterie " COTERIE_VERSION);
  app.require_subcommand(1);
  add_connection_options(app, invocation.admin.connection);
  add_demo(app, invocation);
  add_job(app, invocation);
  add_model(app, invocation);
  add_device(app, invocation);
  add_token(app, invocation);
  add_server(app, invocation);
  if (argc <= 1) {
    std::fputs(app.help().c_str(), stderr);
    return code_of(ExitCode::usage);
  }
  if (const std::string wrong = check_subcommands(app, {argv + 1, argv + argc}); !wrong.empty()) {
    std::fprintf(stderr, "coterie: %s\n", wrong.c_str());
    return code_of(ExitCode::usage);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& error) {
    return explain(app, error);
  }
  Interrupt::install();
  return code_of(invocation.run());
}
