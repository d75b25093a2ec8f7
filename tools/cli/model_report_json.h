// An audit as JSON. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/model_report/model_audit.h"

namespace coterie {

// `page`: where the page was written. A figure that there is not is null.
nlohmann::json audit_json(const ModelAudit& audit, const std::string& page);

}  // namespace coterie
