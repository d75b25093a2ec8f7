#include "tools/cli/help.h"

#include <algorithm>
#include <sstream>

#include "base/text/suggest.h"
#include "tools/cli/wrap.h"

namespace coterie {
namespace {

constexpr const char* kWhichServer =
    "\nWhich server: --data-dir DIR, or --admin-url URL --ca FILE --token-file FILE;\n"
    "see `coterie --help`.";
constexpr int kColumns = 80;

}  // namespace

std::string HelpFormatter::make_description(const CLI::App* app) const { return app->get_description() + "\n\n"; }

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_positional() || option->get_type_size() == 0) return {};
  std::string type = option->get_type_name();
  // What a check puts behind it is said by that check when it fails. Other colons are the type's own: rank=N:PATTERN.
  type = type.substr(0, type.find(std::string(":") + kChoicesMark));
  if (type == "UINT") type = "N";
  if (type == "FLOAT") type = "X";
  return " " + type;
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  std::string text = option->get_description();
  if (option->get_required() && !option->get_positional()) text += " (required)";
  if (!option->get_default_str().empty()) text += " (default " + option->get_default_str() + ")";
  if (!option->get_envname().empty()) text += " (or $" + option->get_envname() + ")";
  return wrapped(text, kColumns - static_cast<int>(get_column_width()), 0);
}

std::string HelpFormatter::make_subcommand(const CLI::App* app) const {
  std::stringstream out;
  const std::string what = wrapped(app->get_description(), kColumns - static_cast<int>(get_column_width()), 0);
  CLI::detail::format_help(out, app->get_display_name(true), what, get_column_width());
  return out.str();
}

CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& what, const std::string& examples) {
  CLI::App* command = parent.add_subcommand(name, what);
  command->footer("Examples:\n" + examples);
  return command;
}

CLI::App* add_group(CLI::App& parent, const std::string& name, const std::string& what, const std::string& examples) {
  return add_command(parent, name, what, examples)->require_subcommand(1)->fallthrough();
}

CLI::App* add_server_command(CLI::App& group, const std::string& name, const std::string& what,
                             const std::string& examples) {
  return add_command(group, name, what,
                     examples + kWhichServer);  // its group passes on what it does not know
}

CLI::Validator one_of(const std::vector<std::string>& words) {
  return CLI::Validator(
      [words](std::string& text) {
        if (std::ranges::find(words, text) != words.end()) return std::string();
        return "must be one of " + listed(words) + ", is " + text + did_you_mean(text, words);
      },
      kChoicesMark + CLI::detail::join(words, "|"));
}

void add_output_option(CLI::App& app, AdminCommand& command) {
  app.add_option("-o,--output", command.output, "table or json")
      ->capture_default_str()
      ->type_name("FORM")
      ->check(one_of({"table", "json"}));
}

}  // namespace coterie
