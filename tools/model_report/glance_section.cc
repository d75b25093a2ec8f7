#include "tools/cli/table.h"
#include "tools/model_report/figure_text.h"
#include "tools/model_report/page_parts.h"
#include "tools/model_report/report_sections.h"

namespace coterie {
namespace {

std::string epsilon_of(const RunFacts& run) {
  for (const auto& [name, value] : run.privacy) {
    if (name == "epsilon") return value;
  }
  return "none: no noise was accounted for";
}

std::string quality_facts(const ModelAudit& audit) {
  if (!audit.classes)
    return fact("loss (" + audit.loss + ")",
                measure_text(audit.evaluation.loss_mean, find_interval(audit.intervals, "loss")));
  return fact("accuracy", share_text(audit.classes->right())) +
         fact("calibration error", format_percent(audit.classes->calibration().expected_error));
}

std::string fairness_facts(const GroupFairness& fairness) {
  std::string facts;
  if (fairness.worst) {
    const GroupScore& worst = fairness.groups[*fairness.worst];
    facts += fact("worst group of " + fairness.column,
                  worst.name + ", " + (fairness.is_of_numbers ? mean_text(worst.error) : share_text(worst.correct)));
  }
  const GapKind kind = fairness.is_of_numbers                  ? GapKind::error
                       : fairness.gap(GapKind::equalised_odds) ? GapKind::equalised_odds
                                                               : GapKind::accuracy;
  if (const std::optional<Gap>& gap = fairness.gap(kind)) {
    facts += fact("gap, " + std::string(gap_rows()[static_cast<size_t>(kind)].title),
                  gap_text(kind, gap->value) + ", p " + format_fixed(gap->p, 3));
  }
  return facts;
}

std::string adversarial_fact(const ModelAudit& audit) {
  if (!audit.adversarial || !audit.classes || audit.adversarial->steps.empty()) return {};
  const AdversarialStep& step = audit.adversarial->steps.back();
  return fact("accuracy under an opponent's step of " + format_digits(100 * step.share) + " %",
              format_percent(step.by_gradient.accuracy));
}

}  // namespace

std::string glance_section(const ModelAudit& audit) {
  std::string facts =
      fact("judged on", audit.data_name + ", " + counted(audit.evaluation.examples, "example")) + quality_facts(audit);
  if (audit.fairness) facts += fairness_facts(*audit.fairness);
  facts += adversarial_fact(audit);
  if (audit.membership)
    facts += fact("training examples told from others, area under the curve", area_text(audit.membership->area));
  if (audit.run)
    facts += fact("level", audit.run->security.empty() ? "not said" : audit.run->security) +
             fact("epsilon", epsilon_of(*audit.run));
  std::string told;
  for (const std::string& objection : objections(audit)) told += paragraph("Objection: " + objection + ".", "bad");
  return section("At a glance", fact_table(facts) + told);
}

}  // namespace coterie
