// coterie data cache stats, clear, verify: looking after a folder of preprocessed data.
#pragma once

#include <string>

#include "tools/cli/exit_code.h"

namespace coterie {

enum class CacheAction : uint8_t { stats, clear, verify };

struct DataCacheCommand {
  CacheAction action = CacheAction::stats;
  std::string directory;
  bool as_json = false;
};

// A folder that is not there is an error: nothing is made. `verify` fails if an entry is damaged, and leaves it:
// whoever needs it next removes it and makes it anew.
ExitCode run_data_cache(const DataCacheCommand& command);

}  // namespace coterie
