#include <algorithm>

#include "tools/cli/table.h"
#include "tools/model_report/page_parts.h"
#include "tools/model_report/report_sections.h"

namespace coterie {
namespace {

constexpr size_t kColumnsShown = 20;

std::string accuracy_text(const ModelAudit& audit, const Evaluation& evaluation) {
  return audit.classes ? format_percent(evaluation.accuracy) : "-";
}

std::vector<std::string> cells_of(const ModelAudit& audit, const std::string& what, const Evaluation& evaluation) {
  return {what, accuracy_text(audit, evaluation), format_digits(evaluation.loss_mean)};
}

std::string disturbances(const ModelAudit& audit) {
  if (audit.disturbances.empty()) {
    return paragraph("Not measured: the model has several inputs, or one that is not of numbers.");
  }
  std::string rows = row(cells_of(audit, "as they are", audit.evaluation));
  for (const Disturbance& one : audit.disturbances) rows += row(cells_of(audit, one.what, one.evaluation));
  return table({"inputs", "accuracy", "loss"}, rows);
}

std::string column_shifts(const ModelAudit& audit) {
  if (audit.column_shifts.empty()) return {};
  std::string rows =
      row({"all as they are", "-", accuracy_text(audit, audit.evaluation), format_digits(audit.evaluation.loss_mean)});
  const size_t shown = std::min(kColumnsShown, audit.column_shifts.size());
  for (size_t i = 0; i < shown; ++i) {
    const ColumnShift& shift = audit.column_shifts[i];
    rows += row({shift.column, format_digits(kColumnShift * shift.deviation), accuracy_text(audit, shift.evaluation),
                 format_digits(shift.evaluation.loss_mean)});
  }
  std::string text =
      paragraph("One column is off by " + format_digits(kColumnShift) +
                " of its standard deviation, as the model sees it, in all examples: the mean of up and of "
                "down. The most harmful first.") +
      table({"column", "off by", "accuracy", "loss"}, rows);
  if (audit.column_shifts.size() > shown) {
    text += paragraph(counted(audit.column_shifts.size() - shown, "column") + " more cost less.");
  }
  if (audit.columns_left_out > 0) text += paragraph(counted(audit.columns_left_out, "column") + " were not tried.");
  return subsection("A column that is a little off", text);
}

std::string adversarial(const ModelAudit& audit) {
  const char* const title = "An opponent who sees the model";
  if (!audit.adversarial) return subsection(title, paragraph("Not tried: " + audit.not_attacked + "."));
  const AdversarialSteps& made = *audit.adversarial;
  const auto cells = [&](const std::string& what, const Evaluation& opponent, const Evaluation& random) {
    return row({what, accuracy_text(audit, opponent), accuracy_text(audit, random), format_digits(opponent.loss_mean),
                format_digits(random.loss_mean)});
  };
  std::string rows = cells("none", made.unmoved, made.unmoved);
  for (const AdversarialStep& step : made.steps) {
    rows += cells(format_digits(100 * step.share) + " % of the range", step.by_gradient, step.at_random);
  }
  return subsection(
      title,
      paragraph(
          "Each value of an input moves by a step in the direction in which the loss rises (fast gradient sign "
          "method, Goodfellow et al. 2015), beside a step as long in a random direction. The range is that of the "
          "example's own values. On " +
          counted(made.unmoved.examples, "example") + ". Who takes several steps does more harm.") +
          table({"step", "accuracy", "random: accuracy", "loss", "random: loss"}, rows));
}

std::string drills(const ModelAudit& audit) {
  if (audit.drills.empty()) return {};
  std::string rows;
  for (const DrillOutcome& drill : audit.drills) {
    const auto score = [&](std::optional<double> value) {
      if (!value) return std::string("-");
      return drill.is_of_numbers ? "R2 " + format_fixed(*value, 3) : format_percent(*value);
    };
    rows += row({drill.run, drill.attack, drill.aggregation, drill.security, score(drill.score),
                 score(drill.without_attack), score(drill.chance)});
  }
  return subsection(
      "Drills", paragraph("Runs in which some devices lied on purpose, as their folders say: how good the last model "
                          "was on examples that no device had seen. Chance is always saying the most frequent class, "
                          "of numbers the mean; a model at that line has learnt nothing.") +
                    table({"run", "attack", "rule", "level", "score", "without lies", "chance"}, rows));
}

}  // namespace

std::string robustness_section(const ModelAudit& audit) {
  return section("How robust it is", disturbances(audit) + column_shifts(audit) + adversarial(audit) + drills(audit));
}

}  // namespace coterie
