// The command line as data: what completions and manual pages are made of. It is read from the grammar that parses,
// so that it cannot name what is not there.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace coterie {

struct OptionText {
  std::vector<std::string> names;    // "-o", "--output"; of an argument its one name, "MODEL"
  std::string value;                 // "FORM"; empty: it takes none
  std::vector<std::string> choices;  // the words it takes, if they are few
  std::string what;                  // one sentence, with default and environment variable
  bool is_required = false;
  bool takes_many = false;

  bool takes_value() const { return !value.empty(); }
  bool takes_file() const;
  bool takes_directory() const;
};

struct CommandText {
  std::string path;                  // "coterie job create"
  std::vector<std::string> aliases;  // other last words of it
  std::string what;
  std::string examples;  // lines of shell and prose, as --help has them
  std::vector<OptionText> options;
  std::vector<OptionText> inherited;  // options of the commands around it that it takes, too
  std::vector<OptionText> arguments;
  std::vector<CommandText> commands;  // below it, in the order of --help

  // The last word of the path.
  std::string name() const { return path.substr(path.rfind(' ') + 1); }
};

// `app` and all below it.
CommandText command_text(const CLI::App& app);

// The same as a list: each command before those below it.
std::vector<const CommandText*> all_commands(const CommandText& root);

}  // namespace coterie
