#include "fl_server/net/route_pattern.h"

#include <algorithm>

#include "base/assert.h"

namespace coterie {

std::string_view PathParameters::operator[](std::string_view name) const {
  const auto* const found = std::find_if(begin(), end(), [name](const auto& one) { return one.first == name; });
  return found == end() ? std::string_view() : found->second;
}

void PathParameters::add(std::string_view name, std::string_view value) {
  COT_ASSERT(count_ < all_.size());
  all_[count_++] = {name, value};
}

bool matches_pattern(std::string_view pattern, std::string_view path, PathParameters& parameters) {
  parameters = {};
  while (!pattern.empty()) {
    if (pattern[0] != '{') {
      if (path.empty() || path[0] != pattern[0]) return false;
      pattern.remove_prefix(1);
      path.remove_prefix(1);
      continue;
    }
    const size_t close = pattern.find('}');
    const std::string_view name = pattern.substr(1, close - 1);
    pattern.remove_prefix(close + 1);
    // Up to the next verb, too: "{job}:pause" has the job's name alone.
    const std::string_view value = path.substr(0, path.find_first_of("/:"));
    if (value.empty()) return false;
    parameters.add(name, value);
    path.remove_prefix(value.size());
  }
  return path.empty();
}

}  // namespace coterie
