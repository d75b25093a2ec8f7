#include "tools/cli/model_report_text.h"

#include <cmath>

#include "tools/cli/table.h"
#include "tools/model_report/figure_text.h"

namespace coterie {
namespace {

constexpr int kNameColumns = 10;  // with it a line of groups has at most 80

std::string percent(const SeenShare& share) { return share.of > 0 ? format_percent(*share.value()) : "-"; }

std::string groups_text(const GroupFairness& fairness) {
  using enum Table::Align;
  std::vector<Table::Column> columns = {{shortened(fairness.column, kNameColumns)}, {"EXAMPLES", right}};
  if (!fairness.is_of_numbers) columns.push_back({"ACCURACY"});
  if (fairness.positive) {
    for (const char* title : {"SELECTED", "TRUE +", "FALSE +"}) columns.push_back({title, right});
  }
  columns.push_back({"ERROR", fairness.is_of_numbers ? left : right});
  Table table(columns);
  for (const GroupScore& group : fairness.groups) {
    std::vector<std::string> cells = {shortened(group.name, kNameColumns), format_count(group.examples)};
    if (!fairness.is_of_numbers) cells.push_back(share_text(group.correct));
    if (fairness.positive) {
      for (const SeenShare& share : {group.selection, group.true_positives, group.false_positives}) {
        cells.push_back(percent(share));
      }
    }
    cells.push_back(fairness.is_of_numbers ? mean_text(group.error) : format_digits(group.error.mean));
    table.add(std::move(cells));
  }
  return table.text();
}

std::string gaps_text(const GroupFairness& fairness) {
  using enum Table::Align;
  Table table({{"GAP", left}, {"SEEN", right}, {"BY CHANCE", right}, {"P", right}});
  for (const GapRow& kind : gap_rows()) {
    const std::optional<Gap>& gap = fairness.gap(kind.kind);
    if (!gap) continue;
    table.add({std::string(kind.title), gap_text(kind.kind, gap->value), gap_text(kind.kind, gap->chance),
               format_fixed(gap->p, 3)});
  }
  return table.empty() ? std::string() : "\n" + table.text();
}

std::string fairness_text(const ModelAudit& audit) {
  const GroupFairness& fairness = *audit.fairness;
  std::string text = "\n" + groups_text(fairness) + gaps_text(fairness);
  if (fairness.worst) text += "worst off: " + shortened(fairness.groups[*fairness.worst].name, 60) + "\n";
  if (fairness.positive) {
    text += "selected is said to be " + shortened(audit.class_name(*fairness.positive), 50) + "\n";
  }
  if (fairness.folded > 0) text += counted(fairness.folded, "small group") + " in (other)\n";
  return text;
}

std::string score_of(const ModelAudit& audit, const Evaluation& evaluation) {
  return audit.classes ? format_percent(evaluation.accuracy) : "loss " + format_fixed(evaluation.loss_mean, 4);
}

std::string ledger_text(const LedgerProof& proof) {
  std::string text = "\nledger: " + counted(proof.records, "record") + ", each follows the one before\n";
  for (const PopulationProof& population : proof.populations) {
    text += "population " + shortened(population.population, 30) + ": epsilon " + format_fixed(population.epsilon, 3) +
            " at delta " + format_digits(proof.delta) + "\n";
  }
  if (proof.has_runs_head == true) text += "the head that the run names is among them\n";
  return text;
}

std::string membership_text(const ModelAudit& audit) {
  if (!audit.membership) return "\nmembership not drilled: " + printable(audit.not_drilled) + "\n";
  using enum Table::Align;
  const MembershipDrill& drill = *audit.membership;
  const std::optional<PrivacyPromise> promise = promise_of(audit);
  Table table({{"MEMBERS TOLD APART"}, {"SEEN"}, {"GUESS", right}, {"EPSILON ALLOWS", right}});
  const auto allowed = [&promise](double most) { return promise ? format_percent(most) : std::string("-"); };
  table.add({"area under the curve", area_text(drill.area), "0.5", "-"});
  table.add({"advantage", points_text(drill.advantage(), drill.advantage_interval()), "0",
             allowed(promise ? promise->advantage_max() : 0)});
  for (const FoundMembers& each : drill.found) {
    const std::string rate = format_digits(100 * each.false_positives) + " %";
    table.add({"found at " + rate + " false", each.found ? share_text(*each.found) : "too few others", rate,
               allowed(promise ? promise->true_positives_max(each.false_positives) : 1)});
  }
  return "\n" + table.text();
}

std::string drills_text(std::span<const DrillOutcome> drills) {
  using enum Table::Align;
  Table table({{"DRILL"}, {"ATTACK"}, {"RULE"}, {"SCORE", right}, {"WITHOUT", right}, {"CHANCE", right}});
  for (const DrillOutcome& drill : drills) {
    const auto score = [&](std::optional<double> value) {
      if (!value) return std::string("-");
      return drill.is_of_numbers ? "R2 " + format_fixed(*value, 3) : format_percent(*value);
    };
    table.add({shortened(drill.run, 16), shortened(drill.attack, 18), shortened(drill.aggregation, 14),
               score(drill.score), score(drill.without_attack), score(drill.chance)});
  }
  return table.text();
}

}  // namespace

std::string audit_text(const ModelAudit& audit, const std::string& page) {
  Table table({{"WHAT", Table::Align::left}, {"", Table::Align::right}});
  table.add({"examples", format_count(audit.evaluation.examples)});
  table.add({"loss", measure_text(audit.evaluation.loss_mean, find_interval(audit.intervals, "loss"))});
  if (audit.classes) {
    table.add({"accuracy", share_text(audit.classes->right())});
    const ClassCalibration made = audit.classes->calibration();
    table.add({"expected calibration error", format_percent(made.expected_error)});
    table.add({made.confidence_excess > 0 ? "too sure by" : "too unsure by",
               format_percent(std::fabs(made.confidence_excess))});
    table.add({"Brier score", format_digits(made.brier)});
  }
  for (const Disturbance& one : audit.disturbances) {
    table.add({one.what, score_of(audit, one.evaluation)});
  }
  if (audit.adversarial) {
    for (const AdversarialStep& step : audit.adversarial->steps) {
      table.add({"adversarial step of " + format_digits(100 * step.share) + " %, " +
                     counted(step.by_gradient.examples, "example"),
                 score_of(audit, step.by_gradient)});
    }
  }
  if (audit.checks) table.add({"explanations hold", audit.checks->hold() ? "yes" : "no"});
  std::string text = table.text();
  if (audit.explanations.empty()) text += "\nnot explained: " + printable(audit.not_explained) + "\n";
  if (audit.fairness) text += fairness_text(audit);
  if (audit.ledger) text += ledger_text(*audit.ledger);
  text += membership_text(audit);
  if (!audit.drills.empty()) text += "\n" + drills_text(audit.drills);
  std::string told;
  for (const std::string& objection : objections(audit)) told += objection + "\n";
  if (!told.empty()) text += "\n" + told;
  return text + "\nwritten to " + printable(page) + "\n";
}

}  // namespace coterie
