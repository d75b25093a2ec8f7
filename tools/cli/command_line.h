// The command line as a whole: from words to what is to be done, or to what the user should read instead.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/arguments.h"

namespace coterie {

struct Parsed {
  bool runs = false;      // Invocation::run is set; otherwise `text` is all that is to be said
  bool is_error = false;  // `text` is what is wrong, not the help that was asked for
  std::string text;
};

// `arguments`: without the program's name. Mistyped commands and options are told what they were meant to be.
Parsed parse_command_line(const std::vector<std::string>& arguments, Invocation& invocation);

}  // namespace coterie
