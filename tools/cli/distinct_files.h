// That no command writes over what it reads, nor twice over the same file.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace coterie {

// A file as its user knows it: by the option, or "FILE".
struct CommandFile {
  std::string what;
  std::string path;  // empty: there is none. A name that load_data knows stands for the files in it
};

// However the paths are spelt, links included. A written file does not lie in a folder that is read ("mnist:DIR").
// invalid_argument names both purposes.
Status distinct_files(const std::vector<CommandFile>& read, const std::vector<CommandFile>& written);

}  // namespace coterie
