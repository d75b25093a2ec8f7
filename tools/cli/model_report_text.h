// An audit in the terminal, and as JSON. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/model_report/model_audit.h"

namespace coterie {

// `page`: where the page was written. At most 80 columns, but for that.
std::string audit_text(const ModelAudit& audit, const std::string& page);
// A figure that there is not is null.
nlohmann::json audit_json(const ModelAudit& audit, const std::string& page);

// What an auditor has to object to, whatever the figures: a sentence each.
std::vector<std::string> objections(const ModelAudit& audit);

}  // namespace coterie
