#include <string>

#include "tools/cli/completion.h"
#include "tools/cli/completion_tables.h"

namespace coterie {
namespace {

constexpr const char* kScript = R"zsh(
_coterie() {
  local at=coterie option= past REPLY=
  local -a described
  local -i count=0 i
  for ((i = 2; i < CURRENT; ++i)); do
    past=${words[i]}
    if [[ -n $option ]]; then
      option=
    elif [[ $past == -* ]]; then
      if __coterie_value "$at" "$past"; then option=$past; fi
    elif __coterie_step "$at" "$past"; then
      at=$REPLY
    else
      count+=1
    fi
  done
  if [[ -z $option && $PREFIX == --*=* ]]; then
    option=${PREFIX%%=*}
    compset -P '*='
  fi
  if [[ -n $option ]]; then
    __coterie_value "$at" "$option"
  elif [[ $PREFIX == -* ]]; then
    __coterie_options "$at"
    _describe -o option described
    return
  elif __coterie_commands "$at"; then
    _describe command described
    return
  else
    __coterie_argument "$at" "$count"
  fi
  case $REPLY in
    ''|'<nothing>') return 1 ;;
    '<files>') _files ;;
    '<directories>') _files -/ ;;
    *) compadd -- ${=REPLY} ;;
  esac
}

if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
  _coterie "$@"
else
  compdef _coterie coterie
fi
)zsh";

// As _describe wants it: a colon ends the word.
std::string described(const std::string& word, const std::string& what) {
  std::string name;
  for (const char c : word) name += c == ':' ? std::string("\\:") : std::string(1, c);
  return in_quotes(name + ":" + what);
}

template <typename AddLines>
std::string table(const std::string& name, const CommandText& root, AddLines add_lines) {
  std::string text = name + "() {\n  described=()\n  case $1 in\n";
  for (const CommandText* command : all_commands(root)) {
    std::string lines;
    add_lines(*command, lines);
    if (!lines.empty()) text += "    " + in_quotes(command->path) + ")\n      described=(\n" + lines + "      ) ;;\n";
  }
  return text + "    *) return 1 ;;\n  esac\n}\n";
}

}  // namespace

std::string zsh_completion(const CommandText& root) {
  const auto commands = [](const CommandText& command, std::string& lines) {
    for (const CommandText& below : command.commands) lines += "        " + described(below.name(), below.what) + "\n";
  };
  const auto options = [](const CommandText& command, std::string& lines) {
    for (const OptionText& option : options_of(command)) {
      for (const std::string& name : option.names) lines += "        " + described(name, option.what) + "\n";
    }
  };
  return "#compdef coterie\n# Completion of coterie in zsh, made by `coterie completion zsh`.\n" +
         completion_tables(root) + "\n" + table("__coterie_commands", root, commands) + "\n" +
         table("__coterie_options", root, options) + kScript;
}

}  // namespace coterie
