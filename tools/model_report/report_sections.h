// What stands under each heading of the page of an audit, as page_parts.h makes it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "tools/model_report/model_audit.h"

namespace coterie {

inline constexpr size_t kClassRowsMax = 1000;  // the rest is counted

// The figures that are asked for first, and what there is to object to.
std::string glance_section(const ModelAudit& audit);
std::string provenance_section(const ModelAudit& audit);
std::string privacy_section(const ModelAudit& audit);
// The part of the section on privacy that says what came of the membership drill, or why there was none.
std::string membership_part(const ModelAudit& audit);
std::string quality_section(const ModelAudit& audit);
std::string fairness_section(const ModelAudit& audit);
// With the reliability diagram. Precondition: the audit is of a classifier.
std::string calibration_section(const ModelAudit& audit);
std::string robustness_section(const ModelAudit& audit);
// Errors: too_large (pictures of the explained examples).
Result<std::string> explanation_section(const ModelAudit& audit);

// The style sheet of all drawings on the page.
std::string_view drawing_style();

}  // namespace coterie
