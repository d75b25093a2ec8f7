#include "fl_server/console/request_cookie.h"

#include <algorithm>

namespace coterie {

std::string_view request_cookie(std::string_view header, std::string_view name) {
  std::string_view value;
  bool was_there = false;
  while (!header.empty()) {
    std::string_view pair = header.substr(0, header.find(';'));
    header.remove_prefix(std::min(header.size(), pair.size() + 1));
    pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || pair.substr(0, equals) != name) continue;
    if (was_there) return {};
    was_there = true;
    value = pair.substr(equals + 1);
  }
  return value;
}

}  // namespace coterie
