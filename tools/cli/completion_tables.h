// What the scripts of bash and zsh share: functions of plain `case` statements that answer in REPLY.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/command_text.h"

namespace coterie {

// Between single quotes, as all three shells take it: a quote ends them, stands by itself, and begins them again.
std::string in_quotes(const std::string& text);

// "--split iid shards": its own options and those that it inherits.
std::vector<OptionText> options_of(const CommandText& command);

// __coterie_step AT WORD: the command that WORD is below AT; fails if it is none. __coterie_value AT OPTION: what the
// option takes: <files>, <directories>, <nothing> that is known, or words; fails if it takes none. __coterie_argument
// AT N: the same of the argument N of a command, or the commands below it.
std::string completion_tables(const CommandText& root);

}  // namespace coterie
