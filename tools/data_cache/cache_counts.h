// What a data cache has done since it was made or cleared, by all processes that shared it: a small file of JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coterie {

struct CacheCounts {
  uint64_t hits = 0;           // loads that an entry answered
  uint64_t misses = 0;         // loads that had to make the examples
  uint64_t stored = 0;         // entries written
  uint64_t damaged = 0;        // entries that failed their checks, and were removed
  uint64_t evicted = 0;        // entries that made room for others
  uint64_t not_stored = 0;     // what could not be kept: too large, everything in use, the disk full
  uint64_t bytes_read = 0;     // of entries that answered
  uint64_t bytes_written = 0;  // of entries
  uint64_t saved_us = 0;       // what making took, less what reading took, over all hits
};

CacheCounts& operator+=(CacheCounts& to, const CacheCounts& more);

std::string to_json_text(const CacheCounts& counts);
// What does not stand there, or is no count, is 0: statistics are no reason to fail.
CacheCounts parse_cache_counts(std::string_view text);

}  // namespace coterie
