// The seam between load_data and the data cache of this process.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "tools/data/load.h"

namespace coterie {

class DataCache;

// Loads without a cache, and tells `sources`, if it is not null, of each file that was read.
using LoadAnew = std::function<Result<TrainingData>(SourceLog* sources)>;

// What `anew` gives, from the process's cache where it has one and the source is worth it (source_files.h). Errors:
// those of `anew`, and those of opening the cache.
Result<TrainingData> load_cached(const std::string& text, const LoadRequest& request, const LoadAnew& anew);

// The same with a cache at hand. The entry is named by the digest of what is in the files now. It is kept only if
// `anew` has read the very same bytes, and only if what is read back of it equals what was made.
Result<TrainingData> load_from(DataCache& cache, const std::string& text, const LoadRequest& request,
                               const LoadAnew& anew);

}  // namespace coterie
