#include "tools/vertical/address.h"

#include <charconv>

namespace coterie {

std::optional<HostPort> parse_address(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return std::nullopt;
  HostPort address{.host = text.substr(0, colon)};
  if (address.host.front() == '[' && address.host.back() == ']') {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc() || stopped != end || address.host.empty()) return std::nullopt;
  return address;
}

}  // namespace coterie
