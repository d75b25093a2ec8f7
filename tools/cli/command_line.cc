#include "tools/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/text/suggest.h"
#include "tools/cli/help.h"
#include "tools/data_cache/process_cache.h"

namespace coterie {
namespace {

constexpr const char* kWhat = "coterie: federated training, from a demo on this machine to jobs on a server.";
constexpr const char* kFooter =
    "Examples:\n"
    "  coterie demo                a server, 20 devices and a model within a minute\n"
    "  coterie --data-dir ./data job list\n"
    "                              jobs of the server that runs on ./data\n"
    "  coterie job create --help   every command has help with examples\n\n"
    "Exit codes: 0 ok, 1 failed, 2 usage or bad input file, 3 connection settings,\n"
    "4 network or access, 5 timeout, 130 interrupted.";

void add_connection_options(CLI::App& app, ConnectionOptions& connection) {
  const auto add = [&app](const char* name, std::string& value, const char* type, const char* what, const char* env) {
    app.add_option(name, value, what)->type_name(type)->envname(env);
  };
  add("--data-dir", connection.data_dir, "DIR",
      "data directory of a server on this machine; coterie-data unless another is named", "COTERIE_DATA_DIR");
  add("--admin-url", connection.admin_url, "URL", "a server elsewhere: its admin plane", "COTERIE_ADMIN_URL");
  add("--ca", connection.ca_file, "FILE", "its certificates to trust", "COTERIE_CA_FILE");
  add("--token-file", connection.token_file, "FILE", "with its operator's token", "COTERIE_TOKEN_FILE");
}

std::vector<std::string> names_below(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* below : app.get_subcommands(std::function<bool(const CLI::App*)>()))
    names.push_back(below->get_name());
  return names;
}

// By its name or an alias; null if there is none.
const CLI::App* command_below(const CLI::App& app, const std::string& name) {
  for (const CLI::App* below : app.get_subcommands(std::function<bool(const CLI::App*)>())) {
    if (below->check_name(name)) return below;
  }
  return nullptr;
}

// The option as `app` and those above it know it: a command takes the options of its group, too.
const CLI::Option* find_option(const CLI::App& app, const std::string& name) {
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    if (const CLI::Option* found = at->get_option_no_throw(name)) return found;
    if (!at->get_fallthrough()) break;
  }
  return nullptr;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_fallthrough() ? at->get_parent() : nullptr) {
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

// "coterie job create"
std::string full_name(const CLI::App& app) {
  return (app.get_parent() == nullptr ? "" : full_name(*app.get_parent()) + " ") + app.get_name();
}

Parsed wrong(const CLI::App& app, const std::string& what) {
  return {.runs = false, .is_error = true, .text = full_name(app) + ": " + what + "\n"};
}

std::string see_help(const CLI::App& app) { return " See `" + full_name(app) + " --help`."; }

// Follows the words that name commands: finds the command, and mistyped names before CLI11 does, which would
// only say that something is missing.
struct Walk {
  const CLI::App* command;
  std::string wrong;
};

Walk walk(const CLI::App& root, const std::vector<std::string>& arguments) {
  const CLI::App* at = &root;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--help" || word == "-h" || word == "--version") return {at, {}};
    if (word.starts_with("-") && word.size() > 1) {
      const std::string name = word.substr(0, word.find('='));
      const CLI::Option* option = find_option(*at, name);
      if (option == nullptr && name.starts_with("--")) {
        return {at, "there is no option `" + name + "`" + did_you_mean(name, option_names(*at)) + see_help(*at)};
      }
      if (option != nullptr && option->get_items_expected_max() > 0 && name.size() == word.size()) ++i;
      continue;
    }
    const std::vector<std::string> names = names_below(*at);
    if (names.empty()) continue;
    const CLI::App* below = command_below(*at, word);
    if (below == nullptr) {
      return {at, "there is no `" + word + "`" + did_you_mean(word, names) + " It is one of: " + listed(names) + "."};
    }
    at = below;
  }
  const std::vector<std::string> names = names_below(*at);
  if (names.empty()) return {at, {}};
  return {at, "what is it to do? It is one of: " + listed(names) + "." + see_help(*at)};
}

}  // namespace

Parsed parse_command_line(const std::vector<std::string>& arguments, Invocation& invocation) {
  CLI::App app{kWhat, "coterie"};
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(kFooter);
  app.set_version_flag("--version", "coterie " COTERIE_VERSION, "print the version and exit");
  app.set_help_flag("-h,--help", "print this and exit");
  app.require_subcommand(1);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // so that aliases can be overruled
  add_connection_options(app, invocation.admin.connection);
  add_demo(app, invocation);
  add_simulate(app, invocation);
  add_sweep(app, invocation);
  add_compare(app, invocation);
  add_vertical(app, invocation);
  add_data(app, invocation);
  add_job(app, invocation);
  add_model(app, invocation);
  add_console(app, invocation);
  add_serve(app, invocation);
  add_device(app, invocation);
  add_authority(app, invocation);
  add_token(app, invocation);
  add_privacy(app, invocation);
  add_admin_token(app, invocation);
  add_audit(app, invocation);
  add_doctor(app, invocation);
  add_server(app, invocation);
  add_node(app, invocation);
  add_signing_key(app, invocation);
  add_texts(app, invocation);
  if (arguments.empty()) return {.runs = false, .is_error = true, .text = app.help()};
  const Walk walked = walk(app, arguments);
  if (!walked.wrong.empty()) return wrong(*walked.command, walked.wrong);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants it
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return {.runs = false, .is_error = false, .text = app.help()};
  } catch (const CLI::CallForVersion&) {
    return {.runs = false, .is_error = false, .text = "coterie " COTERIE_VERSION "\n"};
  } catch (const CLI::ParseError& error) {
    std::string what = error.what();
    if (!what.ends_with('.') && !what.ends_with('?')) what += ".";
    return wrong(*walked.command, what + see_help(*walked.command));
  }
  if (invocation.run) {
    invocation.run = [&invocation, run = std::move(invocation.run)] {
      DataCacheOptions cache{.directory = invocation.data_cache};
      if (invocation.data_cache_bytes_max > 0) cache.bytes_max = invocation.data_cache_bytes_max;
      cache.say = [](const std::string& what) { std::fputs(("coterie: " + what + "\n").c_str(), stderr); };
      use_data_cache(std::move(cache));
      const ExitCode code = run();
      use_data_cache({});
      return code;
    };
  }
  return {.runs = true, .is_error = false, .text = {}};
}

}  // namespace coterie
