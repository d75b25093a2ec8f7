// Times as JSON has them (RFC 3339), always in UTC.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace coterie {

std::string rfc3339(WallTime time);  // "2026-11-21T06:30:00.123Z"

// "2026-11-21T06:30:00Z" or with milliseconds, as rfc3339() writes it; UTC alone. Nothing if it is not so, or no such
// time exists.
std::optional<WallTime> parse_rfc3339(std::string_view text);

}  // namespace coterie
