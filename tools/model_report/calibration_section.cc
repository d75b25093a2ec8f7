#include <algorithm>
#include <cmath>

#include "tools/cli/table.h"
#include "tools/demo/svg.h"
#include "tools/model_report/figure_text.h"
#include "tools/model_report/page_parts.h"
#include "tools/model_report/report_sections.h"

namespace coterie {
namespace {

constexpr double kPlot = 260, kLeft = 46, kTop = 14, kBelow = 44;

std::string draw_reliability(const ClassAnswers& answers) {
  Svg svg;
  const auto bins = answers.bins();
  const double width = kPlot / static_cast<double>(bins.size()), floor = kTop + kPlot;
  for (size_t i = 0; i < bins.size(); ++i) {
    if (bins[i].examples == 0) continue;
    const double x = kLeft + width * static_cast<double>(i), height = kPlot * bins[i].accuracy(),
                 expected = kPlot * bins[i].confidence();
    const ShareInterval interval = wilson_interval(bins[i].right());
    const std::string title = counted(bins[i].examples, "example") + ": confidence " +
                              format_percent(bins[i].confidence()) + ", accuracy " + format_percent(bins[i].accuracy());
    svg.rectangle("bar", {x + 1, floor - height}, width - 2, height, 0, 1, title);
    svg.rectangle("gap", {x + 1, floor - std::max(height, expected)}, width - 2, std::fabs(expected - height));
    const double middle = x + width / 2;
    svg.line("whisker", {middle, floor - kPlot * interval.low}, {middle, floor - kPlot * interval.high});
  }
  svg.line("diagonal", {kLeft, floor}, {kLeft + kPlot, kTop});
  svg.line("axis", {kLeft, kTop}, {kLeft, floor});
  svg.line("axis", {kLeft, floor}, {kLeft + kPlot, floor});
  for (const double share : {0.0, 0.5, 1.0}) {
    svg.text("soft", {kLeft - 6, kTop + kPlot * (1 - share) + 4}, format_fixed(share, 1), Anchor::end);
    svg.text("soft", {kLeft + kPlot * share, floor + 16}, format_fixed(share, 1), Anchor::middle);
  }
  svg.text("soft", {kLeft + kPlot / 2, floor + 34}, "confidence (accuracy up)", Anchor::middle);
  return svg.document(kLeft + kPlot + 20, floor + kBelow, drawing_style(), "Reliability diagram",
                      "accuracy over confidence; on the diagonal they agree");
}

std::string bins_table(const ClassAnswers& answers) {
  std::string rows;
  const auto bins = answers.bins();
  for (size_t i = 0; i < bins.size(); ++i) {
    if (bins[i].examples == 0) continue;
    const auto part = [&](size_t at) {
      return format_fixed(static_cast<double>(at) / static_cast<double>(bins.size()), 2);
    };
    rows += row({part(i) + " to " + part(i + 1), format_count(bins[i].examples), format_percent(bins[i].confidence()),
                 share_text(bins[i].right())});
  }
  return details("The diagram in numbers", table({"confidence", "examples", "mean confidence", "accuracy"}, rows));
}

}  // namespace

std::string calibration_section(const ModelAudit& audit) {
  const ClassAnswers& answers = *audit.classes;
  const ClassCalibration made = answers.calibration();
  const std::string excess = format_percent(std::fabs(made.confidence_excess));
  const std::string rows = row({"expected calibration error (Guo et al. 2017)", format_percent(made.expected_error)}) +
                           row({"largest of a bin", format_percent(made.largest_error)}) +
                           row({made.confidence_excess > 0 ? "too sure by" : "too unsure by", excess}) +
                           row({"Brier score (0 is best, 2 worst)", format_digits(made.brier)});
  return section("How sure it is",
                 table({"measure", "value"}, rows) +
                     paragraph("Confidence is the probability of the class that is said, in " +
                               std::to_string(ClassAnswers::kBins) +
                               " bins of equal width. Red is how far accuracy is from confidence; lines are 95 % "
                               "intervals (Wilson 1927).") +
                     "<figure>\n" + draw_reliability(answers) + "</figure>\n" + bins_table(answers));
}

}  // namespace coterie
