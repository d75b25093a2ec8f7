#include "tools/cli/completion_tables.h"

#include <map>

namespace coterie {
namespace {

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::string offered_for(const OptionText& option) {
  if (!option.choices.empty()) return joined(option.choices, " ");
  if (option.takes_file()) return "<files>";
  return option.takes_directory() ? "<directories>" : "<nothing>";
}

// REPLY -> what it answers.
using Answers = std::map<std::string, std::vector<std::string>>;

std::string function(const std::string& name, const Answers& answers) {
  std::string text = name + "() {\n  REPLY=\n  case \"$1 $2\" in\n";
  for (const auto& [reply, asked] : answers) {
    text += "    " + joined(asked, "|") + ")\n      REPLY=" + in_quotes(reply) + " ;;\n";
  }
  return text + "    *) return 1 ;;\n  esac\n}\n";
}

}  // namespace

std::string in_quotes(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::vector<OptionText> options_of(const CommandText& command) {
  std::vector<OptionText> options = command.options;
  options.insert(options.end(), command.inherited.begin(), command.inherited.end());
  return options;
}

std::string completion_tables(const CommandText& root) {
  Answers steps, values, arguments;
  for (const CommandText* command : all_commands(root)) {
    for (const CommandText& below : command->commands) {
      std::vector<std::string> names = below.aliases;
      names.push_back(below.name());
      for (const std::string& name : names) steps[below.path].push_back(in_quotes(command->path + " " + name));
    }
    for (const OptionText& option : options_of(*command)) {
      if (!option.takes_value()) continue;
      for (const std::string& name : option.names) {
        values[offered_for(option)].push_back(in_quotes(command->path + " " + name));
      }
    }
    std::vector<std::string> commands;
    for (const CommandText& below : command->commands) commands.push_back(below.name());
    if (!commands.empty()) arguments[joined(commands, " ")].push_back(in_quotes(command->path + " 0"));
    for (size_t i = 0; i < command->arguments.size(); ++i) {
      const OptionText& argument = command->arguments[i];
      const std::string place = argument.takes_many ? in_quotes(command->path + " ") + "*"
                                                    : in_quotes(command->path + " " + std::to_string(i));
      arguments[offered_for(argument)].push_back(place);
    }
  }
  return function("__coterie_step", steps) + "\n" + function("__coterie_value", values) + "\n" +
         function("__coterie_argument", arguments);
}

}  // namespace coterie
