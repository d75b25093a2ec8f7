// What a server that runs says for itself, asked as a device and as an operator would.
#pragma once

#include <string_view>

#include "base/time.h"
#include "tools/admin/connection.h"
#include "tools/doctor/finding.h"

namespace coterie {

// `device_url` may be empty: the process has no such plane, or its URL is not known here. `skew_max` is what the server
// allows between a device's clock and its own.
Findings look_at_planes(const std::string& device_url, const AdminEndpoint& admin, std::string_view version,
                        Millis skew_max);

}  // namespace coterie
