#include "secure/crypto/digest.h"
#include "tools/cli/table.h"
#include "tools/model_report/page_parts.h"
#include "tools/model_report/report_sections.h"

namespace coterie {
namespace {

constexpr size_t kColumnsOpen = 20;  // more are folded up

std::string provenance(const ModelAudit& audit) {
  std::string rows = fact("model file", audit.model_file) + fact("name in it", audit.model.name) +
                     fact("content digest", audit.model.digest) +
                     fact("size", format_bytes(audit.model.file_bytes) + ", " + format_count(audit.model.parameters) +
                                      " parameters, " + counted(audit.model.layers.size(), "layer")) +
                     fact("input", audit.model.input) + fact("output", audit.model.output) +
                     fact("judged on", audit.data_name + ", " + counted(audit.evaluation.examples, "example"));
  if (!audit.data_digest.empty()) rows += fact("digest of the data", audit.data_digest);
  std::string text = fact_table(rows);
  if (!audit.run) return text + paragraph("No folder of a run was given: what the model was trained on is not known.");
  if (!audit.is_of_run) {
    text += paragraph("The run names no model: whether this file is what it made is not known.", "bad");
  } else if (!*audit.is_of_run) {
    text += paragraph(
        "This file is NOT the model that the run says it made: its digest is " + audit.run->model_digest + ".", "bad");
  } else {
    text += paragraph("This file is what the run says it made: the digests agree.");
  }
  rows.clear();
  for (const auto& [name, value] : audit.run->job) rows += fact(name, value);
  return text + subsection("The run", fact_table(rows));
}

std::string contract(const ModelAudit& audit) {
  if (!audit.contract || audit.contract->columns.empty()) return {};
  std::string rows;
  for (const ContractColumn& column : audit.contract->columns) {
    if (column.text_bytes > 0) {
      rows += row({column.name, "text of " + counted(column.text_bytes, "byte"), "", "", ""});
      continue;
    }
    rows += row({column.name, column.is_category ? counted(column.values.size(), "value") : "number",
                 column.is_category ? "" : format_digits(column.low) + " to " + format_digits(column.high),
                 column.is_category ? "" : format_digits(column.mean), format_count(column.missing)});
  }
  const std::string digest = content_digest(as_bytes(to_json_text(*audit.contract))).hex();
  const std::string columns = table({"column", "kind", "range", "mean", "missing"}, rows);
  return subsection("The data's columns", fact_table(fact("digest of the contract by which they were read", digest)) +
                                              (audit.contract->columns.size() > kColumnsOpen
                                                   ? details(counted(audit.contract->columns.size(), "column"), columns)
                                                   : columns));
}

}  // namespace

std::string provenance_section(const ModelAudit& audit) {
  return section("Where it comes from", provenance(audit) + contract(audit));
}

}  // namespace coterie
