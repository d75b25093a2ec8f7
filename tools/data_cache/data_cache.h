// DataCache: a folder of entries (entry_file.h), each named by its key, that processes share. It knows nothing of what
// the blocks mean.
//
//   KEY.entry         mapped by whoever reads it, with a shared lock (flock) while it is in use: it is not evicted then
//   building-0 to -f  locked by whoever makes an entry whose key begins so: others wait, and find it made
//   lock              held while entries are evicted and named, and while statistics are written
//   data-cache.json   what was counted (cache_counts.h)
//
// An entry appears under its name whole or not at all, and is never written again. Whatever is read from the folder is
// checked as if a stranger had written it. Only a folder that is refused makes a load fail: any other error is an
// entry that is not there. The folder has mode 0700 when it is made here, files have 0600.
//
// Any thread, any process.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/os/file.h"
#include "base/result.h"
#include "tools/data_cache/cache_counts.h"
#include "tools/data_cache/cache_options.h"
#include "tools/data_cache/entry_file.h"

namespace coterie {

inline constexpr uint64_t kEntryFileBytesMax = 1ull << 38;  // before anything is mapped

// An entry that is read. As long as it is held, it is in use.
struct CachedEntry {
  EntryView view;
  uint64_t bytes = 0;
  std::shared_ptr<const void> keeper;  // of the mapping and of the lock
};

// What is in the folder.
struct CacheEntryInfo {
  std::string name;  // of the file
  Digest key;
  uint64_t bytes = 0;
  WallTime used;
  bool is_in_use = false;
};

class DataCache {
 public:
  // Makes the folder if there is none, and removes what killed writers left. Errors: permission_denied (the folder is
  // somebody else's, or others may write to it), conflict (it is no folder), and what the system says.
  static Result<std::unique_ptr<DataCache>> open(DataCacheOptions options);

  // The entry, checked. Nothing: there is none; what fails its checks is removed.
  std::optional<CachedEntry> find(const Digest& key);

  // Removes an entry whose blocks mean nothing, as find() does with one that fails its checks.
  void drop(const Digest& key) const;

  // Waits until no other process or thread makes an entry of such a key, and keeps the others waiting as long as it is
  // held. Without locks on this file system, or when a signal ends the waiting, nobody waits.
  [[nodiscard]] os::File begin_making(const Digest& key) const;

  // Keeps the blocks as an entry, for which the least recently used ones that nobody reads make room. Whether it did;
  // if not, `say` hears why.
  bool keep(const Digest& key, uint64_t making_us, std::span<const ByteView> blocks);

  // Adds to what was counted. Counts that cannot be written are lost.
  void count(const CacheCounts& more) const;

  CacheCounts counts() const;
  Result<std::vector<CacheEntryInfo>> entries() const;  // the least recently used first
  // malformed, data_loss, ...: what find() would remove it for.
  Status check(const CacheEntryInfo& entry) const;
  // Removes entries that nobody reads, what killed writers left, and the counts; returns how many entries are gone.
  Result<uint64_t> clear();

  const DataCacheOptions& options() const { return options_; }

 private:
  explicit DataCache(DataCacheOptions options) : options_(std::move(options)) {}
  std::string path_of(const Digest& key) const;
  os::File lock() const;
  Status keep_file(const Digest& key, uint64_t making_us, std::span<const ByteView> blocks);
  Status make_room(uint64_t bytes);
  void say_once(const std::string& what);

  const DataCacheOptions options_;
  std::once_flag said_;
};

}  // namespace coterie
