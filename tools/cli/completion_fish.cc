#include <set>
#include <string>

#include "tools/cli/completion.h"
#include "tools/cli/completion_tables.h"

namespace coterie {
namespace {

// Names of options that are followed by a value, wherever they stand.
std::string valued_names(const CommandText& root) {
  std::set<std::string> names;
  for (const CommandText* command : all_commands(root)) {
    for (const OptionText& option : command->options) {
      if (option.takes_value()) names.insert(option.names.begin(), option.names.end());
    }
  }
  std::string text;
  for (const std::string& name : names) text += " " + name;
  return text;
}

std::string functions(const CommandText& root) {
  std::string steps;
  for (const CommandText* command : all_commands(root)) {
    for (const CommandText& below : command->commands) {
      steps += "                case " + in_quotes(command->path + " " + below.name());
      for (const std::string& alias : below.aliases) steps += " " + in_quotes(command->path + " " + alias);
      steps += "\n                    set at " + in_quotes(below.path) + "\n";
    }
  }
  return "function __coterie_at\n"
         "    set -l at coterie\n"
         "    set -l value_follows 0\n"
         "    for word in (commandline -opc)[2..-1]\n"
         "        if test $value_follows = 1\n"
         "            set value_follows 0\n"
         "        else if string match -q -- '-*' $word\n"
         "            contains -- $word" +
         valued_names(root) +
         "; and set value_follows 1\n"
         "        else\n"
         "            switch \"$at $word\"\n" +
         steps +
         "            end\n"
         "        end\n"
         "    end\n"
         "    echo $at\n"
         "end\n"
         "function __coterie_is\n"
         "    test (__coterie_at) = \"$argv\"\n"
         "end\n";
}

std::string words_of(const OptionText& option) {
  std::string words;
  for (const std::string& choice : option.choices) words += (words.empty() ? "" : " ") + choice;
  return words;
}

std::string value_of(const OptionText& option) {
  if (!option.takes_value()) return {};
  if (!option.choices.empty()) return " -x -a " + in_quotes(words_of(option));
  if (option.takes_file()) return " -r -F";
  return option.takes_directory() ? " -x -a '(__fish_complete_directories)'" : " -x";
}

std::string line(const CommandText& at, const std::string& rest, const std::string& what) {
  return "complete -c coterie -n '__coterie_is " + at.path + "'" + rest +
         (what.empty() ? "" : " -d " + in_quotes(what)) + "\n";
}

}  // namespace

std::string fish_completion(const CommandText& root) {
  std::string text = "# Completion of coterie in fish, made by `coterie completion fish`.\n" + functions(root) +
                     "complete -c coterie -f\n";
  for (const CommandText* command : all_commands(root)) {
    for (const CommandText& below : command->commands) text += line(*command, " -a " + below.name(), below.what);
    for (const OptionText& argument : command->arguments) {
      if (!argument.choices.empty()) text += line(*command, " -a " + in_quotes(words_of(argument)), argument.what);
      else if (argument.takes_file()) text += line(*command, " -F", {});
      else if (argument.takes_directory()) text += line(*command, " -a '(__fish_complete_directories)'", {});
    }
    for (const OptionText& option : options_of(*command)) {
      std::string names;
      for (const std::string& name : option.names) {
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      text += line(*command, names + value_of(option), option.what);
    }
  }
  return text;
}

}  // namespace coterie
