// The data cache of this process: the one place where the command line says that there is one, and load_data hears it.
#pragma once

#include "base/result.h"
#include "tools/data_cache/data_cache.h"

namespace coterie {

// Before any thread loads data. An empty directory: no cache, as before any call.
void use_data_cache(DataCacheOptions options);

// Opened when it is first asked for; null: there is none. Errors: those of DataCache::open. Any thread.
Result<DataCache*> process_data_cache();

}  // namespace coterie
