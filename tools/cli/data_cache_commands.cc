#include "tools/cli/data_cache_commands.h"

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/data_cache/data_cache.h"

namespace coterie {
namespace {

using nlohmann::ordered_json;

uint64_t bytes_of(const std::vector<CacheEntryInfo>& entries) {
  uint64_t bytes = 0;
  for (const CacheEntryInfo& entry : entries) bytes += entry.bytes;
  return bytes;
}

void print_stats(const std::vector<CacheEntryInfo>& entries, const CacheCounts& counts, bool as_json) {
  const auto in_use = static_cast<uint64_t>(std::ranges::count_if(entries, &CacheEntryInfo::is_in_use));
  if (as_json) {
    ordered_json json = {{"entries", entries.size()}, {"bytes", bytes_of(entries)}, {"in_use", in_use}};
    json["counts"] = ordered_json::parse(to_json_text(counts));
    print_text(json.dump(2) + "\n");
    return;
  }
  Table table({{"", Table::Align::left}, {"", Table::Align::right}});
  table.add({"entries", format_count(entries.size())});
  table.add({"  in use", format_count(in_use)});
  table.add({"  bytes", format_bytes(bytes_of(entries))});
  table.add({"hits", format_count(counts.hits)});
  table.add({"  read", format_bytes(counts.bytes_read)});
  table.add({"  time saved", format_seconds(static_cast<double>(counts.saved_us) / 1e6)});
  table.add({"misses", format_count(counts.misses)});
  table.add({"  stored", format_count(counts.stored)});
  table.add({"  written", format_bytes(counts.bytes_written)});
  table.add({"  not stored", format_count(counts.not_stored)});
  table.add({"evicted", format_count(counts.evicted)});
  table.add({"damaged", format_count(counts.damaged)});
  const std::string text = table.text();
  print_text(text.substr(text.find('\n') + 1));  // without its line of titles
}

ExitCode print_verified(const DataCache& cache, const std::vector<CacheEntryInfo>& entries, bool as_json) {
  ordered_json damaged = ordered_json::array();
  for (const CacheEntryInfo& entry : entries) {
    const Status good = cache.check(entry);
    if (good) continue;
    damaged.push_back(entry.name);
    if (!as_json) print_error("data cache verify", good.error());
  }
  if (as_json) {
    print_text(ordered_json{{"entries", entries.size()}, {"damaged", damaged}}.dump(2) + "\n");
  } else {
    print_text((entries.size() == 1 ? std::string("1 entry") : format_count(entries.size()) + " entries") + ", " +
               format_count(damaged.size()) + " damaged\n");
  }
  return damaged.empty() ? ExitCode::ok : ExitCode::failure;
}

}  // namespace

ExitCode run_data_cache(const DataCacheCommand& command) {
  constexpr const char* kCommand = "data cache";
  if (!os::exists(command.directory)) {
    return fail_on_input(kCommand, Error(ErrorCode::not_found, "there is no folder " + command.directory));
  }
  const Result<std::unique_ptr<DataCache>> cache = DataCache::open({.directory = command.directory});
  if (!cache) return fail_on_input(kCommand, cache.error());
  if (command.action == CacheAction::clear) {
    const Result<uint64_t> gone = (*cache)->clear();
    if (!gone) return fail_on_output(kCommand, gone.error());
    print_text(command.as_json
                   ? ordered_json{{"removed", *gone}}.dump(2) + "\n"
                   : (*gone == 1 ? std::string("1 entry") : format_count(*gone) + " entries") + " removed\n");
    return ExitCode::ok;
  }
  const Result<std::vector<CacheEntryInfo>> entries = (*cache)->entries();
  if (!entries) return fail_on_input(kCommand, entries.error());
  if (command.action == CacheAction::verify) return print_verified(**cache, *entries, command.as_json);
  print_stats(*entries, (*cache)->counts(), command.as_json);
  return ExitCode::ok;
}

}  // namespace coterie
