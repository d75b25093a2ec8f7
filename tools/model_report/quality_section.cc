#include <algorithm>

#include "tools/cli/table.h"
#include "tools/model_report/figure_text.h"
#include "tools/model_report/page_parts.h"
#include "tools/model_report/report_sections.h"

namespace coterie {
namespace {

std::string class_table(const ModelAudit& audit) {
  const auto classes = audit.classes->classes();
  std::string rows;
  for (size_t i = 0; i < std::min(classes.size(), kClassRowsMax); ++i) {
    rows += row({audit.class_name(i), format_count(classes[i].examples),
                 share_text({classes[i].correct, classes[i].examples}),
                 share_text({classes[i].correct, classes[i].predicted})});
  }
  std::string text = table({"class", "examples", "accuracy (recall)", "precision"}, rows);
  if (classes.size() > kClassRowsMax) text += paragraph(counted(classes.size() - kClassRowsMax, "more class"));
  return text;
}

std::string quality(const ModelAudit& audit) {
  const auto interval = [&audit](std::string_view name) { return find_interval(audit.intervals, name); };
  std::string rows = row({"loss (" + audit.loss + ")", measure_text(audit.evaluation.loss_mean, interval("loss"))});
  if (audit.classes) rows += row({"accuracy", share_text(audit.classes->right())});
  for (const Measure& measure : audit.measures) {
    rows += row({measure.name, measure_text(measure.value, interval(measure.name))});
  }
  const std::string sure = paragraph(
      "In brackets: 95 % intervals over the examples that could have been drawn instead; of shares by Wilson 1927, of "
      "means by Student's t, of the area under the curve by DeLong et al. 1988.");
  return sure + table({"measure", "value"}, rows) + (audit.classes ? class_table(audit) : std::string());
}

}  // namespace

std::string quality_section(const ModelAudit& audit) { return section("How good it is", quality(audit)); }

}  // namespace coterie
