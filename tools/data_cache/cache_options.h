// What a process is told of its data cache.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace coterie {

inline constexpr uint64_t kDataCacheBytesMaxDefault = 8ull << 30;

struct DataCacheOptions {
  std::string directory;                             // empty: no cache
  uint64_t bytes_max = kDataCacheBytesMaxDefault;    // of all entries
  std::function<void(const std::string&)> say = {};  // hears once, in a sentence, why entries are not kept
};

}  // namespace coterie
