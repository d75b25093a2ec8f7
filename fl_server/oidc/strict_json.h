// JSON of strangers: an object or nothing. Stricter than the format: no key twice in one object (RFC 8725
// section 2.4: two readers that take different ones disagree on who somebody is), UTF-8 only, no NUL, limited
// depth.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

namespace coterie {

inline constexpr int kOidcJsonDepthMax = 8;

// The object, or nothing. It says no why: what it read belongs into no message.
std::optional<nlohmann::json> parse_strict_object(std::string_view text);

// The string under `key`; nothing if there is none or it is no string.
const std::string* string_under(const nlohmann::json& object, std::string_view key);

}  // namespace coterie
