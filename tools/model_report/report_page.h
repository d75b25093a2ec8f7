// An audit as a page (tools/demo/static_page.h), and its reliability diagram. Names in it are text of others and are
// escaped. Pure.
#pragma once

#include <string>

#include "tools/model_report/model_audit.h"

namespace coterie {

// Errors: too_large (pictures of the explained examples).
Result<std::string> report_page(const ModelAudit& audit);

}  // namespace coterie
