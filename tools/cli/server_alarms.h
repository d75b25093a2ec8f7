// What `coterie server status` says of alarms and refusals: text of the answer of GET /admin/v1/server. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace coterie {

// Empty: there are none, or the caller is not told. At most 80 columns, whatever a server sends.
std::string alarms_text(const nlohmann::json& server);
std::string refusals_text(const nlohmann::json& server);

}  // namespace coterie
