#include "tools/cli/model_report_text.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/cli/table.h"
#include "tools/model_report/figure_text.h"

namespace coterie {
namespace {

constexpr int kNameColumns = 10;  // with it a line of groups has at most 80

std::string percent(const Share& share) { return share.of > 0 ? format_percent(*share.value()) : "-"; }

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
      for (const Share& share : {group.selection, group.true_positives, group.false_positives}) {
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

std::string drills_text(std::span<const Drill> drills) {
  using enum Table::Align;
  Table table({{"DRILL"}, {"ATTACK"}, {"RULE"}, {"SCORE", right}, {"WITHOUT", right}, {"CHANCE", right}});
  for (const Drill& drill : drills) {
    const auto score = [&](std::optional<double> value) {
      if (!value) return std::string("-");
      return drill.is_of_numbers ? "R2 " + format_fixed(*value, 3) : format_percent(*value);
    };
    table.add({shortened(drill.run, 16), shortened(drill.attack, 18), shortened(drill.aggregation, 14),
               score(drill.score), score(drill.without_attack), score(drill.chance)});
  }
  return table.text();
}

nlohmann::json or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json share_json(const Share& share) {
  if (share.of == 0) return nullptr;
  const ShareInterval interval = wilson_interval(share);
  return {{"value", *share.value()}, {"low", interval.low}, {"high", interval.high}, {"of", share.of}};
}

nlohmann::json mean_json(const MeanInterval& mean) {
  nlohmann::json json = {{"value", or_null(mean.mean)}};
  if (!mean.half_width) return json;
  json["low"] = or_null(mean.mean - *mean.half_width);
  json["high"] = or_null(mean.mean + *mean.half_width);
  return json;
}

nlohmann::json evaluation_json(const ModelAudit& audit, const Evaluation& evaluation) {
  nlohmann::json json = {{"loss", or_null(evaluation.loss_mean)}};
  if (audit.classes) json["accuracy"] = evaluation.accuracy;
  return json;
}

nlohmann::json adversarial_json(const ModelAudit& audit) {
  nlohmann::json steps = nlohmann::json::array();
  for (const AdversarialStep& step : audit.adversarial->steps) {
    steps.push_back({{"share", step.share},
                     {"by_gradient", evaluation_json(audit, step.by_gradient)},
                     {"at_random", evaluation_json(audit, step.at_random)}});
  }
  return {{"examples", audit.adversarial->unmoved.examples},
          {"unmoved", evaluation_json(audit, audit.adversarial->unmoved)},
          {"steps", std::move(steps)}};
}

nlohmann::json drills_json(std::span<const Drill> drills) {
  nlohmann::json json = nlohmann::json::array();
  for (const Drill& drill : drills) {
    json.push_back({{"run", printable(drill.run)},
                    {"attack", printable(drill.attack)},
                    {"aggregation", printable(drill.aggregation)},
                    {"security", printable(drill.security)},
                    {"metric", drill.is_of_numbers ? "r2" : "accuracy"},
                    {"score", drill.score},
                    {"without_attack", or_null(drill.without_attack)},
                    {"chance", or_null(drill.chance)}});
  }
  return json;
}

nlohmann::json fairness_json(const ModelAudit& audit) {
  const GroupFairness& fairness = *audit.fairness;
  nlohmann::json groups = nlohmann::json::array(), gaps = nlohmann::json::object();
  for (const GroupScore& group : fairness.groups) {
    groups.push_back({{"group", printable(group.name)},
                      {"is_rest", group.is_rest},
                      {"examples", group.examples},
                      {"accuracy", share_json(group.correct)},
                      {"selection", share_json(group.selection)},
                      {"true_positives", share_json(group.true_positives)},
                      {"false_positives", share_json(group.false_positives)},
                      {"error", mean_json(group.error)}});
  }
  for (const GapRow& kind : gap_rows()) {
    const std::optional<Gap>& gap = fairness.gap(kind.kind);
    gaps[std::string(kind.name)] =
        gap ? nlohmann::json{{"value", gap->value}, {"chance", gap->chance}, {"p", gap->p}} : nlohmann::json();
  }
  nlohmann::json json = {{"column", printable(fairness.column)},
                         {"groups", std::move(groups)},
                         {"gaps", std::move(gaps)},
                         {"selection_ratio", or_null(fairness.selection_ratio)},
                         {"folded_groups", fairness.folded}};
  json["positive"] = fairness.positive ? nlohmann::json(printable(audit.class_name(*fairness.positive))) : nullptr;
  json["worst"] = fairness.worst ? nlohmann::json(printable(fairness.groups[*fairness.worst].name)) : nullptr;
  return json;
}

}  // namespace

std::string audit_text(const ModelAudit& audit, const std::string& page) {
  Table table({{"WHAT", Table::Align::left}, {"", Table::Align::right}});
  table.add({"examples", format_count(audit.evaluation.examples)});
  table.add({"loss", format_fixed(audit.evaluation.loss_mean, 4)});
  if (audit.classes) {
    table.add({"accuracy", format_percent(audit.evaluation.accuracy)});
    const Calibration made = audit.classes->calibration();
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
  if (!audit.drills.empty()) text += "\n" + drills_text(audit.drills);
  std::string told;
  for (const std::string& objection : objections(audit)) told += objection + "\n";
  if (!told.empty()) text += "\n" + told;
  return text + "\nwritten to " + printable(page) + "\n";
}

nlohmann::json audit_json(const ModelAudit& audit, const std::string& page) {
  nlohmann::json answer = {{"page", page},
                           {"model_digest", audit.model.digest},
                           {"data_digest", audit.data_digest},
                           {"examples", audit.evaluation.examples},
                           {"loss", audit.evaluation.loss_mean}};
  for (const Measure& measure : audit.measures) answer[measure.name] = measure.value;
  if (audit.is_of_run) answer["is_of_run"] = *audit.is_of_run;
  if (audit.classes) {
    answer["accuracy"] = audit.evaluation.accuracy;
    answer["unanswered"] = audit.classes->unanswered();
    const Calibration made = audit.classes->calibration();
    answer["expected_calibration_error"] = made.expected_error;
    answer["largest_calibration_error"] = made.largest_error;
    answer["confidence_excess"] = made.confidence_excess;
    answer["brier"] = made.brier;
    nlohmann::json classes = nlohmann::json::array();
    for (size_t i = 0; i < audit.classes->classes().size(); ++i) {
      const ClassScore& score = audit.classes->classes()[i];
      classes.push_back({{"class", printable(audit.class_name(i))},
                         {"examples", score.examples},
                         {"recall", score.recall()},
                         {"precision", score.precision()}});
    }
    answer["classes"] = std::move(classes);
  }
  nlohmann::json disturbances = nlohmann::json::array();
  for (const Disturbance& one : audit.disturbances) {
    disturbances.push_back(evaluation_json(audit, one.evaluation));
    disturbances.back()["what"] = one.what;
  }
  answer["robustness"] = std::move(disturbances);
  nlohmann::json columns = nlohmann::json::array();
  for (const ColumnShift& shift : audit.column_shifts) {
    columns.push_back(evaluation_json(audit, shift.evaluation));
    columns.back()["column"] = printable(shift.column);
    columns.back()["off_by"] = kColumnShift * shift.deviation;
  }
  if (!columns.empty()) answer["columns_off"] = std::move(columns);
  if (audit.adversarial) answer["adversarial"] = adversarial_json(audit);
  if (!audit.drills.empty()) answer["drills"] = drills_json(audit.drills);
  if (audit.fairness) answer["fairness"] = fairness_json(audit);
  if (audit.checks) answer["explanations_hold"] = audit.checks->hold();
  if (audit.explanations.empty()) answer["not_explained"] = printable(audit.not_explained);
  return answer;
}

std::vector<std::string> objections(const ModelAudit& audit) {
  std::vector<std::string> told;
  if (audit.is_of_run && !*audit.is_of_run) told.emplace_back("the file is not the model that the run made");
  if (audit.classes && audit.classes->unanswered() > 0) {
    told.push_back("what the model says of " + counted(audit.classes->unanswered(), "example") + " is no number");
  }
  if (audit.checks && !audit.checks->hold()) told.emplace_back("a check of the explanations does not hold");
  return told;
}

}  // namespace coterie
