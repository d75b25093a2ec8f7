#include "proto/messages/secagg.h"

namespace coterie {
namespace {

constexpr std::array<std::string_view, 4> kSecurityLevelNames = {"none", "masked", "active", "active_dp"};

}  // namespace

std::string_view to_string(SecurityLevel level) { return kSecurityLevelNames.at(static_cast<size_t>(level)); }

std::optional<SecurityLevel> security_level_from(std::string_view name) {
  for (size_t i = 0; i < kSecurityLevelNames.size(); ++i) {
    if (kSecurityLevelNames[i] == name) return static_cast<SecurityLevel>(i);
  }
  return std::nullopt;
}

}  // namespace coterie
