#include <string>

#include "tools/cli/completion.h"
#include "tools/cli/completion_tables.h"

namespace coterie {
namespace {

constexpr const char* kScript = R"bash(
_coterie() {
  local at=coterie word=${COMP_WORDS[COMP_CWORD]} option= past REPLY=
  local -i count=0 i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    past=${COMP_WORDS[i]}
    if [[ -n $option ]]; then
      [[ $past == = ]] || option=  # bash makes three words of --option=value
    elif [[ $past == -* ]]; then
      if __coterie_value "$at" "$past"; then option=$past; fi
    elif __coterie_step "$at" "$past"; then
      at=$REPLY
    else
      count+=1
    fi
  done
  [[ $word == = ]] && word=
  if [[ -n $option ]]; then
    __coterie_value "$at" "$option"
  elif [[ $word == -* ]]; then
    __coterie_options "$at"
  else
    __coterie_argument "$at" "$count"
  fi
  case $REPLY in
    '<nothing>') ;;
    '<files>')
      compopt -o filenames 2> /dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    '<directories>')
      compopt -o filenames 2> /dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$REPLY" -- "$word") ;;
  esac
}
complete -F _coterie coterie
)bash";

std::string options_table(const CommandText& root) {
  std::string text = "__coterie_options() {\n  REPLY=\n  case $1 in\n";
  for (const CommandText* command : all_commands(root)) {
    std::string names;
    for (const OptionText& option : options_of(*command)) {
      for (const std::string& name : option.names) names += (names.empty() ? "" : " ") + name;
    }
    text += "    " + in_quotes(command->path) + ")\n      REPLY=" + in_quotes(names) + " ;;\n";
  }
  return text + "  esac\n}\n";
}

}  // namespace

std::string bash_completion(const CommandText& root) {
  return "# Completion of coterie in bash 4 and newer, made by `coterie completion bash`.\n" + completion_tables(root) +
         "\n" + options_table(root) + kScript;
}

}  // namespace coterie
