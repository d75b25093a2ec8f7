// Tenants: organisations that share a server and do not see each other. A job belongs to one, and so does a population
// with its devices and enrollment tokens; what nobody has claimed is the default tenant's. A caller belongs to one, or
// to all of them (kEveryTenant): what is another's does not exist for him. Rows: AdminStore. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace coterie {

inline constexpr std::string_view kEveryTenant = "*";
inline constexpr std::string_view kDefaultTenant = "default";
inline constexpr size_t kTenantCharsMax = 64;

// 1 to kTenantCharsMax of a-z, 0-9, '-', '_', '.'. So kEveryTenant is none.
constexpr bool is_tenant_name(std::string_view name) {
  return !name.empty() && name.size() <= kTenantCharsMax && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

// Whether who belongs to `caller` sees what belongs to `owner`.
constexpr bool tenant_sees(std::string_view caller, std::string_view owner) {
  return caller == kEveryTenant || caller == owner;
}

// What a tenant may have. The numbers are stored: never renumber.
enum class Owned : uint8_t { job = 1, population = 2 };

}  // namespace coterie
