// coterie data ...: shards for devices from a source of the user's own, and looking at data.
#pragma once

#include <string>

#include "tools/cli/exit_code.h"
#include "tools/data/federate.h"

namespace coterie {

struct DataMakeOptions {
  FederateOptions data;
  std::string directory;
  std::string program;  // as the user called it, for the commands to try next
  bool as_json = false;
  bool is_quiet = false;
};
ExitCode make_data(const DataMakeOptions& options);

struct DataInspectOptions {
  std::string what;  // a directory of data make, a data set file, or a source
  std::string svg;   // a file to draw into; empty: none
  bool shows_all = false;
  bool as_json = false;
};
ExitCode inspect_data(const DataInspectOptions& options);

}  // namespace coterie
