#include "tools/data_cache/data_cache.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/os/mapped_file.h"
#include "base/os/temporary_file.h"

namespace coterie {
namespace {

constexpr std::string_view kEnding = ".entry";
constexpr std::string_view kUnfinished = ".entry.unfinished.";
constexpr uint64_t kCountsBytesMax = 1 << 16;
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

Status check_folder(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return Error(ErrorCode::conflict, "the data cache " + path + " is no folder");
  }
  const std::string expected =
      "; expected a folder that is yours and that nobody else may write to: chmod go-w " + path;
  if (info.st_uid != ::geteuid()) {
    return Error(ErrorCode::permission_denied,
                 "the data cache " + path + " belongs to user " + std::to_string(info.st_uid) + expected);
  }
  if ((info.st_mode & kOthersWrite) != 0) {
    return Error(ErrorCode::permission_denied, "others may write to the data cache " + path + expected);
  }
  return {};
}

// A file of ours that nobody else could write to.
Status check_file(const os::File& file) {
  struct stat info {};
  if (::fstat(file.fd(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid() &&
      (info.st_mode & kOthersWrite) == 0) {
    return {};
  }
  return Error(ErrorCode::permission_denied, file.path() + " is no file of yours alone");
}

// Or a link to one. Nothing else may even be opened: a FIFO waits for whoever writes to it.
bool is_regular(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

struct PinnedEntry {
  os::File file;
  os::MappedFile mapped;
};

Result<CachedEntry> open_entry(const std::string& path, const Digest& key, bool is_used) {
  if (os::exists(path) && !is_regular(path)) {
    return Error(ErrorCode::permission_denied, path + " is no file of yours alone");
  }
  auto pinned = std::make_shared<PinnedEntry>();
  COT_ASSIGN(pinned->file, os::File::open_read(path));
  COT_TRY(check_file(pinned->file));
  // Whoever evicts holds the lock for a moment. What is evicted is read all the same: its bytes stay until nobody has
  // them.
  (void)::flock(pinned->file.fd(), LOCK_SH);
  COT_ASSIGN(pinned->mapped, os::MappedFile::map(pinned->file, kEntryFileBytesMax));
  Result<EntryView> view = parse_entry(pinned->mapped.bytes(), key);
  if (!view) return view.error().with_context(path);
  if (is_used) (void)pinned->file.touch();
  const uint64_t bytes = pinned->mapped.bytes().size();
  return CachedEntry{std::move(*view), bytes, std::move(pinned)};
}

// Where a file system has no locks, each entry counts as somebody's.
bool is_in_use(const os::File& file) { return ::flock(file.fd(), LOCK_EX | LOCK_NB) != 0; }

Status write_blocks(os::AtomicFile& file, const Digest& key, uint64_t making_us, std::span<const ByteView> blocks) {
  constexpr std::array<uint8_t, kEntryAlignment> kZeros{};
  COT_TRY(file.write(entry_head(key, making_us, blocks)));
  uint64_t size = kEntryHeadBytes;
  for (const ByteView block : blocks) {
    COT_TRY(file.write(ByteView(kZeros).first(entry_padding(size))));
    COT_TRY(file.write(block));
    size += entry_padding(size) + block.size();
  }
  return {};
}

void sweep(const std::string& directory) {
  const Result<std::vector<std::string>> names = os::list_directory(directory);
  if (!names) return;
  for (const std::string& name : *names) {
    const size_t at = name.find(kUnfinished);
    if (at != std::string::npos) os::remove_abandoned(directory + "/" + name.substr(0, at + kEnding.size()));
  }
}

}  // namespace

Result<std::unique_ptr<DataCache>> DataCache::open(DataCacheOptions options) {
  COT_TRY(os::make_directories(options.directory));
  COT_TRY(check_folder(options.directory));
  sweep(options.directory);
  return std::unique_ptr<DataCache>(new DataCache(std::move(options)));
}

std::string DataCache::path_of(const Digest& key) const {
  return options_.directory + "/" + key.hex() + std::string(kEnding);
}

os::File DataCache::lock() const {
  Result<os::File> file = os::File::open_append(options_.directory + "/lock");
  if (!file) return {};
  while (::flock(file->fd(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return std::move(*file);
}

std::optional<CachedEntry> DataCache::find(const Digest& key) {
  const std::string path = path_of(key);
  Result<CachedEntry> entry = open_entry(path, key, true);
  if (entry) return std::move(*entry);
  const ErrorCode why = entry.error().code();
  if (why == ErrorCode::not_found || why == ErrorCode::unavailable) return std::nullopt;  // not the entry's fault
  drop(key);
  return std::nullopt;
}

void DataCache::drop(const Digest& key) const {
  (void)os::remove_file(path_of(key));
  count({.damaged = 1});
}

os::File DataCache::begin_making(const Digest& key) const {
  Result<os::File> file = os::File::open_append(options_.directory + "/building-" + key.hex().substr(0, 1));
  if (!file) return {};
  (void)::flock(file->fd(), LOCK_EX);
  return std::move(*file);
}

Status DataCache::make_room(uint64_t bytes) {
  if (bytes > options_.bytes_max) {
    return Error(ErrorCode::too_large, "an entry of " + std::to_string(bytes) + " bytes is beyond the limit of " +
                                           std::to_string(options_.bytes_max) + "; --data-cache-max-bytes raises it");
  }
  COT_ASSIGN(const std::vector<CacheEntryInfo> all, entries());
  uint64_t held = 0;
  for (const CacheEntryInfo& entry : all) held += entry.bytes;
  CacheCounts gone;
  for (const CacheEntryInfo& entry : all) {
    if (held <= options_.bytes_max - bytes) break;
    const std::string path = options_.directory + "/" + entry.name;
    const Result<os::File> file = os::File::open_read(path);
    if (!file || is_in_use(*file)) continue;
    COT_TRY(os::remove_file(path));
    held -= entry.bytes;
    ++gone.evicted;
  }
  if (gone.evicted > 0) {
    CacheCounts counts = this->counts();
    (void)os::write_file_atomically(options_.directory + "/data-cache.json", as_bytes(to_json_text(counts += gone)),
                                    os::Durability::process);
  }
  if (held <= options_.bytes_max - bytes) return {};
  return Error(ErrorCode::storage_full, "the entries that are in use leave no room within " +
                                            std::to_string(options_.bytes_max) +
                                            " bytes; --data-cache-max-bytes raises the limit");
}

Status DataCache::keep_file(const Digest& key, uint64_t making_us, std::span<const ByteView> blocks) {
  const uint64_t bytes = entry_bytes(blocks);
  if (bytes > options_.bytes_max) return make_room(bytes);  // it says why
  COT_ASSIGN(os::AtomicFile file, os::AtomicFile::create(path_of(key)));
  COT_TRY(write_blocks(file, key, making_us, blocks));
  const os::File held = lock();
  COT_TRY(make_room(bytes));
  return file.commit(os::Durability::content);
}

bool DataCache::keep(const Digest& key, uint64_t making_us, std::span<const ByteView> blocks) {
  const Status kept = keep_file(key, making_us, blocks);
  if (kept) {
    count({.stored = 1, .bytes_written = entry_bytes(blocks)});
    return true;
  }
  count({.not_stored = 1});
  say_once("the data cache " + options_.directory + " keeps no more: " + kept.error().message());
  return false;
}

void DataCache::say_once(const std::string& what) {
  std::call_once(said_, [&] {
    if (options_.say) options_.say(what);
  });
}

void DataCache::count(const CacheCounts& more) const {
  const os::File held = lock();
  CacheCounts all = counts();
  all += more;
  (void)os::write_file_atomically(options_.directory + "/data-cache.json", as_bytes(to_json_text(all)),
                                  os::Durability::process);
}

CacheCounts DataCache::counts() const {
  const std::string path = options_.directory + "/data-cache.json";
  if (!is_regular(path)) return {};
  const Result<Bytes> file = os::read_file(path, kCountsBytesMax);
  return file ? parse_cache_counts(as_text(*file)) : CacheCounts();
}

Result<std::vector<CacheEntryInfo>> DataCache::entries() const {
  COT_ASSIGN(const std::vector<std::string> names, os::list_directory(options_.directory));
  std::vector<CacheEntryInfo> entries;
  for (const std::string& name : names) {
    if (!name.ends_with(kEnding) || !is_regular(options_.directory + "/" + name)) continue;
    const Result<Digest> key = Digest::from_hex(std::string_view(name).substr(0, name.size() - kEnding.size()));
    const Result<os::File> file = os::File::open_read(options_.directory + "/" + name);
    if (!key || !file) continue;  // nobody's of ours, or evicted meanwhile
    const Result<uint64_t> bytes = file->size();
    const Result<WallTime> used = file->modified();
    if (bytes && used) entries.push_back({name, *key, *bytes, *used, is_in_use(*file)});
  }
  std::ranges::stable_sort(entries, {}, &CacheEntryInfo::used);
  return entries;
}

Status DataCache::check(const CacheEntryInfo& entry) const {
  const Result<CachedEntry> opened = open_entry(options_.directory + "/" + entry.name, entry.key, false);
  return opened ? Status() : Status(opened.error());
}

Result<uint64_t> DataCache::clear() {
  const os::File held = lock();
  sweep(options_.directory);
  COT_ASSIGN(const std::vector<CacheEntryInfo> all, entries());
  uint64_t gone = 0;
  for (const CacheEntryInfo& entry : all) {
    if (entry.is_in_use) continue;
    COT_TRY(os::remove_file(options_.directory + "/" + entry.name));
    ++gone;
  }
  COT_TRY(os::remove_file(options_.directory + "/data-cache.json"));
  return gone;
}

}  // namespace coterie
