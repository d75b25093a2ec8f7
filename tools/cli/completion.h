// Scripts that complete the command line in a shell. They know commands, options and the words that options take, and
// call no program: completing is as fast as the shell.
#pragma once

#include <string>

#include "tools/cli/command_text.h"

namespace coterie {

std::string bash_completion(const CommandText& root);
std::string zsh_completion(const CommandText& root);
std::string fish_completion(const CommandText& root);

}  // namespace coterie
