#include "tools/cli/table.h"
#include "tools/model_report/page_parts.h"
#include "tools/model_report/report_sections.h"

namespace coterie {
namespace {

std::string privacy(const ModelAudit& audit) {
  if (!audit.run) return paragraph("Not known: no folder of a run was given.");
  std::string text = paragraph("Level: " + (audit.run->security.empty() ? "not said" : audit.run->security));
  if (audit.run->privacy.empty()) {
    return text + paragraph(
                      "The run names no epsilon: no noise was accounted for. Nothing bounds what the model tells about "
                      "any one "
                      "device's examples.");
  }
  std::string rows;
  for (const auto& [name, value] : audit.run->privacy) rows += fact(name, value);
  return text + table({}, rows) +
         paragraph(
             "Epsilon bounds what all released models together tell about any one device's examples, if the server "
             "draws noise and "
             "cohorts as the accountant assumes. The run's summary says so; `coterie privacy verify` asks the ledger.");
}

}  // namespace

std::string privacy_section(const ModelAudit& audit) { return section("Privacy", privacy(audit)); }

}  // namespace coterie
