#include "tools/data_cache/process_cache.h"

#include <mutex>

namespace coterie {
namespace {

struct ProcessCache {
  std::mutex mutex;
  DataCacheOptions options;
  std::unique_ptr<DataCache> cache;
};

ProcessCache& process_cache() {
  static ProcessCache cache;
  return cache;
}

}  // namespace

void use_data_cache(DataCacheOptions options) {
  ProcessCache& process = process_cache();
  const std::lock_guard lock(process.mutex);
  process.options = std::move(options);
  process.cache.reset();
}

Result<DataCache*> process_data_cache() {
  ProcessCache& process = process_cache();
  const std::lock_guard lock(process.mutex);
  if (process.cache == nullptr && !process.options.directory.empty()) {
    COT_ASSIGN(process.cache, DataCache::open(process.options));
  }
  return process.cache.get();
}

}  // namespace coterie
