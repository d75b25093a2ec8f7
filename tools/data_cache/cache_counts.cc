#include "tools/data_cache/cache_counts.h"

#include <nlohmann/json.hpp>

namespace coterie {
namespace {

struct Count {
  const char* name;
  uint64_t CacheCounts::*value;
};

constexpr Count kCounts[] = {{"hits", &CacheCounts::hits},
                             {"misses", &CacheCounts::misses},
                             {"stored", &CacheCounts::stored},
                             {"damaged", &CacheCounts::damaged},
                             {"evicted", &CacheCounts::evicted},
                             {"not_stored", &CacheCounts::not_stored},
                             {"bytes_read", &CacheCounts::bytes_read},
                             {"bytes_written", &CacheCounts::bytes_written},
                             {"saved_us", &CacheCounts::saved_us}};

}  // namespace

CacheCounts& operator+=(CacheCounts& to, const CacheCounts& more) {
  for (const Count& count : kCounts) to.*count.value += more.*count.value;
  return to;
}

std::string to_json_text(const CacheCounts& counts) {
  nlohmann::ordered_json json;
  for (const Count& count : kCounts) json[count.name] = counts.*count.value;
  return json.dump(2) + "\n";
}

CacheCounts parse_cache_counts(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  CacheCounts counts;
  if (!json.is_object()) return counts;
  for (const Count& count : kCounts) {
    const auto found = json.find(count.name);
    if (found != json.end() && found->is_number_unsigned()) counts.*count.value = found->get<uint64_t>();
  }
  return counts;
}

}  // namespace coterie
