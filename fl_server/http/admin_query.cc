#include "fl_server/http/admin_query.h"

#include <charconv>

namespace coterie {

uint64_t query_number(const std::map<std::string, std::string>& query, const std::string& key, uint64_t fallback,
                      uint64_t min, uint64_t max, Problems& problems) {
  const auto found = query.find(key);
  if (found == query.end()) return fallback;
  uint64_t value = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= min && value <= max) return value;
  problems.push_back({"?" + key, "must be an integer in [" + std::to_string(min) + ", " + std::to_string(max) + "]"});
  return fallback;
}

}  // namespace coterie
