// An audit in the terminal. Pure.
#pragma once

#include <string>

#include "tools/model_report/model_audit.h"

namespace coterie {

// `page`: where the page was written. At most 80 columns, but for that.
std::string audit_text(const ModelAudit& audit, const std::string& page);

}  // namespace coterie
