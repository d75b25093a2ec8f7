#include "tools/cli/command_text.h"

#include <CLI/CLI.hpp>

#include "tools/cli/help.h"

namespace coterie {
namespace {

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t at = type.find(std::string(":") + kChoicesMark);
  if (at == std::string::npos) return {};
  return CLI::detail::split(type.substr(at + 1 + std::string(kChoicesMark).size()), '|');
}

OptionText option_text(const CLI::Option& option) {
  const HelpFormatter formatter;
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  if (option.get_positional()) {
    text.names = {option.get_name(true)};
    text.value = text.names.front();
  } else if (option.get_items_expected_max() > 0) {
    const std::string shown = formatter.make_option_opts(&option);  // " FILE", or " " where the type has no name
    text.value = shown.size() > 1 ? shown.substr(1) : "VALUE";
  }
  text.choices = choices_of(option);
  text.what = formatter.make_option_desc(&option);
  text.is_required = option.get_required();
  text.takes_many = option.get_items_expected_max() > 1;
  return text;
}

void add_options(const CLI::App& app, CommandText& text) {
  for (const CLI::Option* option : app.get_options()) {
    (option->get_positional() ? text.arguments : text.options).push_back(option_text(*option));
  }
  for (const CLI::App* at = &app; at->get_fallthrough() && at->get_parent() != nullptr;) {
    at = at->get_parent();
    for (const CLI::Option* option : at->get_options()) {
      if (option != at->get_help_ptr() && option != at->get_version_ptr())
        text.inherited.push_back(option_text(*option));
    }
  }
}

CommandText below(const CLI::App& app, const std::string& around) {
  CommandText text;
  text.path = around.empty() ? app.get_name() : around + " " + app.get_name();
  text.aliases = app.get_aliases();
  text.what = app.get_description();
  text.examples = app.get_footer();
  add_options(app, text);
  for (const CLI::App* command : app.get_subcommands(std::function<bool(const CLI::App*)>())) {
    text.commands.push_back(below(*command, text.path));
  }
  return text;
}

void list(const CommandText& text, std::vector<const CommandText*>& into) {
  into.push_back(&text);
  for (const CommandText& command : text.commands) list(command, into);
}

}  // namespace

bool OptionText::takes_file() const { return value.starts_with("FILE") || value.starts_with("DATA"); }
bool OptionText::takes_directory() const { return value.starts_with("DIR"); }

CommandText command_text(const CLI::App& app) { return below(app, {}); }

std::vector<const CommandText*> all_commands(const CommandText& root) {
  std::vector<const CommandText*> commands;
  list(root, commands);
  return commands;
}

}  // namespace coterie
