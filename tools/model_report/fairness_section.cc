#include <string>

#include "tools/cli/table.h"
#include "tools/demo/svg.h"
#include "tools/model_report/figure_text.h"
#include "tools/model_report/page_parts.h"
#include "tools/model_report/report_sections.h"

namespace coterie {
namespace {

constexpr double kTrack = 90, kHeight = 16, kDot = 3.5;

// A share and its interval on the way from 0 to 1.
std::string draw_share(const SeenShare& share) {
  const ShareInterval interval = wilson_interval(share);
  const auto at = [](double value) { return kDot + value * (kTrack - 2 * kDot); };
  constexpr double middle = kHeight / 2;
  Svg svg;
  svg.line("track", {at(0), middle}, {at(1), middle});
  svg.line("whisker", {at(interval.low), middle}, {at(interval.high), middle});
  svg.circle("dot", {at(share.value().value_or(0)), middle}, kDot);
  return svg.document(kTrack, kHeight, drawing_style(), share_text(share), "a share and its interval, from 0 to 1");
}

std::string class_rows(const GroupFairness& fairness) {
  std::string rows;
  for (size_t i = 0; i < fairness.groups.size(); ++i) {
    const GroupScore& group = fairness.groups[i];
    std::vector<std::string> cells = {group.name, format_count(group.examples), share_text(group.correct)};
    if (fairness.positive) {
      for (const SeenShare& share : {group.selection, group.true_positives, group.false_positives}) {
        cells.push_back(share_text(share));
      }
    }
    cells.push_back(mean_text(group.error));
    const std::string_view style = group.is_rest ? "rest" : fairness.worst == i ? "worst" : "";
    rows += row(cells, style, draw_share(group.correct));
  }
  return rows;
}

std::string groups_table(const GroupFairness& fairness) {
  if (!fairness.is_of_numbers) {
    std::vector<std::string> heads = {fairness.column, "examples", "accuracy"};
    if (fairness.positive) heads.insert(heads.end(), {"selection", "true positives", "false positives"});
    heads.insert(heads.end(), {"error", "accuracy, 0 to 1"});
    return table(heads, class_rows(fairness));
  }
  std::string rows;
  for (size_t i = 0; i < fairness.groups.size(); ++i) {
    const GroupScore& group = fairness.groups[i];
    rows += row({group.name, format_count(group.examples), mean_text(group.error)}, group.is_rest         ? "rest"
                                                                                    : fairness.worst == i ? "worst"
                                                                                                          : "");
  }
  return table({fairness.column, "examples", "mean absolute error"}, rows);
}

std::string gaps_table(const GroupFairness& fairness) {
  std::string rows;
  for (const GapRow& kind : gap_rows()) {
    const std::optional<Gap>& gap = fairness.gap(kind.kind);
    if (!gap) continue;
    rows += row({std::string(kind.title) + ": " + std::string(kind.source), gap_text(kind.kind, gap->value),
                 gap_text(kind.kind, gap->chance), format_fixed(gap->p, 3)});
  }
  if (rows.empty()) return paragraph("No gap can be told: fewer than two groups have a figure to compare.");
  return table({"gap between groups", "seen", "by chance", "p"}, rows);
}

std::string folded_text(const GroupFairness& fairness) {
  if (fairness.folded == 0) return {};
  return paragraph(counted(fairness.folded, "group") + (fairness.folded == 1 ? " has" : " have") +
                   " too few examples to say anything, or more groups than are shown have more. They stand together as "
                   "(other) and are in no gap.");
}

std::string figure_text(const std::optional<ScoredOnDevices::Figure>& figure, bool is_share) {
  if (!figure) return "-";
  const auto text = [&](double value) { return is_share ? format_fixed(100 * value, 1) : format_digits(value); };
  const std::string value = is_share ? format_percent(figure->value) : format_digits(figure->value);
  if (!figure->low || !figure->high) return value;
  return value + " (" + text(*figure->low) + " to " + text(*figure->high) + ")";
}

std::string on_devices(const DeviceFairness& made) {
  const auto cells = [](const ScoredOnDevices& score) {
    return row({score.name, format_digits(score.devices), format_digits(score.examples),
                figure_text(score.accuracy, true), figure_text(score.loss, false)});
  };
  std::string rows = cells(made.all);
  for (const ScoredOnDevices& group : made.groups) rows += cells(group);
  std::string text = paragraph(
      "What devices found on their own examples, told in sums alone. Intervals are of 95 %; here a device is a draw, "
      "as "
      "examples of one device are alike.");
  if (!made.is_of_model) {
    text += paragraph("They judged ANOTHER model than this one: " + made.model_digest + ".", "bad");
  }
  text += table({made.column.empty() ? "group" : made.column, "devices", "examples", "accuracy", "loss"}, rows);
  if (made.accuracy_gap) {
    text += paragraph(
        "Largest accuracy of a group less the smallest: " + gap_text(GapKind::accuracy, *made.accuracy_gap) + ".");
  }
  if (made.worst_from && made.worst_to) {
    text += paragraph("A tenth of the devices has at most so many right: " + format_percent(*made.worst_from) + " to " +
                      format_percent(*made.worst_to) + ".");
  }
  return subsection("On devices", text);
}

std::string on_held_out(const RunFacts::OwnScores& own) {
  return subsection("Devices of the run",
                    paragraph("On what " + format_digits(own.devices) +
                              " devices held out of their own examples, each counting alike: accuracy " +
                              format_percent(own.accuracy) + ", the tenth that has it worst " +
                              format_percent(own.worst_tenth) + "."));
}

std::string by_group(const ModelAudit& audit) {
  const GroupFairness& fairness = *audit.fairness;
  std::string text;
  if (fairness.positive) {
    text +=
        paragraph("The positive class is " + audit.class_name(*fairness.positive) +
                  ". Selection is the share of a group that is said to be positive; true positives the same of those "
                  "labelled positive, false positives of the others.");
  } else if (!fairness.is_of_numbers) {
    text += paragraph("No positive class was named (--positive): accuracy and error alone are compared.");
  }
  text += paragraph(
      "In brackets: 95 % intervals, of shares by Wilson 1927, of means by Student's t. Error is " +
      std::string(fairness.is_of_numbers ? "|said - target|" : "-log of the probability of the example's own class") +
      (fairness.worst ? ". The group that is worst off is " + fairness.groups[*fairness.worst].name + "." : "."));
  text += groups_table(fairness) + folded_text(fairness);
  text += subsection("How far groups are apart", gaps_table(fairness));
  if (fairness.selection_ratio) {
    text += paragraph("Selection ratio, smallest by largest: " + format_fixed(*fairness.selection_ratio, 3) +
                      ". The four-fifths rule (29 CFR 1607.4 D) asks for 0.8 at least.");
  }
  return text + paragraph("By chance is the same gap where the groups are shuffled among the examples, the mean of " +
                              std::to_string(kGroupShuffles) +
                              " shuffles; p is how often chance gives as large a one. Gaps that are small may still be "
                              "unjust, and groups that are not in the data are not seen.",
                          "soft");
}

}  // namespace

std::string fairness_section(const ModelAudit& audit) {
  std::string body = audit.fairness ? by_group(audit)
                                    : paragraph(
                                          "Not measured here: no column was named that says whose an example is "
                                          "(--group).");
  if (audit.on_devices) body += on_devices(*audit.on_devices);
  if (audit.run && audit.run->own) body += on_held_out(*audit.run->own);
  return section("Fairness by group", body);
}

}  // namespace coterie
