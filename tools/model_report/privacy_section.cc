#include <cmath>

#include "tools/cli/table.h"
#include "tools/model_report/page_parts.h"
#include "tools/model_report/report_sections.h"

namespace coterie {
namespace {

std::string level_text(const std::string& level) {
  if (level == "none") return "none: the server saw each device's update";
  if (level == "masked") return "masked: the server saw sums alone, if it kept to the protocol";
  if (level == "active") return "active: the server saw sums alone, and devices refused a server that lies";
  if (level == "active_dp") return "active_dp: as active, and the devices added the noise to the sum themselves";
  return level.empty() ? "not said" : level;
}

std::string epsilon_text(double epsilon) { return std::isfinite(epsilon) ? format_fixed(epsilon, 3) : "infinite"; }

std::string assumptions(const std::vector<std::string>& sentences) {
  if (sentences.empty()) return {};
  std::string items;
  for (const std::string& sentence : sentences) items += list_item(sentence);
  return subsection("Epsilon holds if all of this is true", list(items));
}

std::string ledger_text(const ModelAudit& audit) {
  const std::string run_head = audit.run ? audit.run->ledger_head : std::string();
  if (!audit.ledger) {
    if (run_head.empty()) return {};
    return subsection("The ledger",
                      fact_table(fact("head that the run names", run_head)) +
                          paragraph("The ledger itself was not given (--ledger). Its owner saves it with") +
                          command_line("coterie --data-dir DIR privacy verify --save ledger.json"));
  }
  const LedgerProof& proof = *audit.ledger;
  std::string rows;
  for (const PopulationProof& population : proof.populations) {
    rows += row({population.population, format_count(population.records), format_count(population.releases),
                 epsilon_text(population.epsilon)});
  }
  std::string text = fact_table(fact("records", format_count(proof.records)) + fact("head, a digest", proof.head));
  text +=
      paragraph("Each record has the digest that it says and follows the one before: this was computed again here.");
  if (!proof.has_runs_head) {
    text += paragraph("The run names no head of a ledger.");
  } else if (*proof.has_runs_head) {
    text += paragraph("The head that the run names is among its records.");
  } else {
    text += paragraph("The head that the run names, " + run_head + ", is NOT among its records.", "bad");
  }
  text +=
      table({"population", "records", "releases that count", "epsilon at delta " + format_digits(proof.delta)}, rows);
  for (const PopulationProof& population : proof.populations) {
    text += paragraph("Root of the log of " + population.population + ": " + population.root, "soft");
  }
  if (proof.populations.empty()) text += paragraph("Its records do not say of which population they are.");
  text += paragraph("Anybody who has the file verifies it with") +
          command_line("coterie privacy verify --ledger " + shell_word(proof.file));
  return subsection("The ledger", text) + assumptions(proof.assumptions);
}

std::string epsilon(const ModelAudit& audit) {
  if (audit.run->privacy.empty()) {
    return paragraph(
        "The run names no epsilon: no noise was accounted for. Nothing bounds what the model tells about "
        "any one device's examples.");
  }
  std::string rows;
  for (const auto& [name, value] : audit.run->privacy) rows += fact(name, value);
  return fact_table(rows) +
         paragraph(
             "Epsilon bounds what all released models together tell about any one device's examples, if the server "
             "draws noise and cohorts as the accountant assumes.");
}

}  // namespace

std::string privacy_section(const ModelAudit& audit) {
  const std::string of_run = audit.run ? fact_table(fact("level", level_text(audit.run->security))) + epsilon(audit)
                                       : paragraph("Not known: no folder of a run was given (--run).");
  return section("Privacy", of_run + ledger_text(audit) + membership_part(audit));
}

}  // namespace coterie
