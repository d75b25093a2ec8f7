#include "tools/data_cache/cached_load.h"

#include <chrono>

#include "tools/data_cache/data_cache.h"
#include "tools/data_cache/process_cache.h"
#include "tools/data_cache/source_files.h"
#include "tools/data_cache/stored_data.h"

namespace coterie {
namespace {

using Clock = std::chrono::steady_clock;

uint64_t us_since(Clock::time_point begin) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count());
}

// What the key is made of, or nothing where there is no entry to be had.
std::optional<SourceLog> sources_of(const DataName& name, const LoadRequest& request) {
  if (request.fit && request.fit_name.empty() && is_fitted(name)) return std::nullopt;
  const Result<std::vector<std::string>> files = source_files(name);
  if (!files || files->empty()) return std::nullopt;
  Result<SourceLog> sources = digest_files(*files);
  if (!sources) return std::nullopt;  // whoever loads anew says what is wrong
  return std::move(*sources);
}

class Load {
 public:
  Load(DataCache& cache, const Digest& key, const SourceLog& sources, StageLog* stages)
      : cache_(cache), key_(key), sources_(sources), stages_(stages) {}

  std::optional<TrainingData> from_entry() {
    StageCall call(stages_, DataStage::read);
    uint64_t making_us = 0;
    std::optional<TrainingData> data = read_entry(making_us);
    if (!data) return data;
    call.add_bytes(entry_bytes_);
    const uint64_t reading_us = us_since(begun_);
    cache_.count(
        {.hits = 1, .bytes_read = entry_bytes_, .saved_us = making_us > reading_us ? making_us - reading_us : 0});
    return data;
  }

  Result<TrainingData> made(const LoadAnew& anew) {
    const Clock::time_point begin = Clock::now();
    SourceLog read;
    COT_ASSIGN(TrainingData data, anew(&read));
    const uint64_t making_us = us_since(begin);
    cache_.count({.misses = 1});
    // Something has been written meanwhile: the data are of what was read, and the key of what lay there before.
    if (read.files() != sources_.files()) return data;
    const std::vector<Bytes> blocks = blocks_of(data);
    const std::vector<ByteView> views(blocks.begin(), blocks.end());
    if (views.empty() || !cache_.keep(key_, making_us, views)) return data;
    // From here on the entry's pages are those of every process.
    uint64_t unused = 0;
    std::optional<TrainingData> again = read_entry(unused);
    if (again && is_same(*again, data)) return std::move(*again);
    cache_.drop(key_);
    return data;
  }

 private:
  std::optional<TrainingData> read_entry(uint64_t& making_us) {
    const std::optional<CachedEntry> entry = cache_.find(key_);
    if (!entry) return std::nullopt;
    Result<TrainingData> data = data_of(entry->view.blocks, entry->keeper);
    if (!data) {
      cache_.drop(key_);
      return std::nullopt;
    }
    making_us = entry->view.making_us;
    entry_bytes_ = entry->bytes;
    return std::move(*data);
  }

  DataCache& cache_;
  const Digest key_;
  const SourceLog& sources_;
  StageLog* const stages_;
  const Clock::time_point begun_ = Clock::now();
  uint64_t entry_bytes_ = 0;
};

}  // namespace

Result<TrainingData> load_from(DataCache& cache, const std::string& text, const LoadRequest& request,
                               const LoadAnew& anew) {
  const Result<DataName> name = DataName::parse(text);
  if (!name) return anew(request.sources);
  std::optional<SourceLog> sources;
  {
    const StageCall call(request.stages, DataStage::read);
    sources = sources_of(*name, request);
  }
  if (!sources) return anew(request.sources);
  const Digest key = cache_key(*name, request, *sources);
  Load load(cache, key, *sources, request.stages);
  if (std::optional<TrainingData> data = load.from_entry()) return std::move(*data);
  const os::File making = cache.begin_making(key);
  if (std::optional<TrainingData> data = load.from_entry()) return std::move(*data);
  return load.made(anew);
}

Result<TrainingData> load_cached(const std::string& text, const LoadRequest& request, const LoadAnew& anew) {
  COT_ASSIGN(DataCache* const cache, process_data_cache());
  return cache == nullptr ? anew(request.sources) : load_from(*cache, text, request, anew);
}

}  // namespace coterie
