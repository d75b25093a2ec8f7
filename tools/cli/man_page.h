// Manual pages of the command line, as roff with the macros of man(7).
#pragma once

#include <string>

#include "tools/cli/command_text.h"

namespace coterie {

// The page of `root`, or of one of the commands right below it with all that is below that. `version` is shown at the
// foot.
std::string man_page(const CommandText& root, const CommandText& command, const std::string& version);

// "coterie-job.1"
std::string man_page_file(const CommandText& command);

}  // namespace coterie
