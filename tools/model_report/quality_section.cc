#include <algorithm>

#include "tools/cli/table.h"
#include "tools/model_report/page_parts.h"
#include "tools/model_report/report_sections.h"

namespace coterie {
namespace {

std::string class_table(const ModelAudit& audit) {
  const auto classes = audit.classes->classes();
  std::string rows;
  for (size_t i = 0; i < std::min(classes.size(), kClassRowsMax); ++i) {
    rows += row({audit.class_name(i), format_count(classes[i].examples),
                 classes[i].examples > 0 ? format_percent(classes[i].recall()) : "-",
                 classes[i].predicted > 0 ? format_percent(classes[i].precision()) : "-"});
  }
  std::string text = table({"class", "examples", "accuracy (recall)", "precision"}, rows);
  if (classes.size() > kClassRowsMax) text += paragraph(counted(classes.size() - kClassRowsMax, "more class"));
  return text;
}

std::string quality(const ModelAudit& audit) {
  std::string rows = row({"loss (" + audit.loss + ")", format_digits(audit.evaluation.loss_mean)});
  if (audit.classes) rows += row({"accuracy", format_percent(audit.evaluation.accuracy)});
  for (const Measure& measure : audit.measures) rows += row({measure.name, format_digits(measure.value)});
  return table({"measure", "value"}, rows) + (audit.classes ? class_table(audit) : std::string());
}

}  // namespace

std::string quality_section(const ModelAudit& audit) { return section("How good it is", quality(audit)); }

}  // namespace coterie
