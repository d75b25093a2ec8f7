#include "tools/model_report/report_page.h"

#include <algorithm>
#include <cmath>

#include "base/text/base64.h"
#include "tools/cli/table.h"
#include "tools/demo/static_page.h"
#include "tools/demo/svg.h"
#include "tools/explain/attribution_picture.h"
#include "tools/explain/feature_names.h"

namespace coterie {
namespace {

constexpr std::string_view kPageStyle = R"(:root { color-scheme: light dark; }
body { margin: 16px; max-width: 1000px; font: 14px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h2 { margin-top: 28px; font-size: 18px; border-bottom: 1px solid #8885; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 10px; text-align: right; border-bottom: 1px solid #8885; }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; }
td.text { text-align: left; overflow-wrap: anywhere; }
.bad { color: #c0392b; font-weight: 600; }
figure { margin: 12px 0; }
figure img { max-width: 100%; image-rendering: pixelated; }
figcaption { overflow-wrap: anywhere; }
svg { max-width: 100%; height: auto; }
)";

constexpr std::string_view kDrawingStyle = R"(.bar { fill: #2459c9; }
.gap { fill: #c0392b; opacity: .35; }
.diagonal { stroke: #5d6778; stroke-dasharray: 3 3; }
)";

constexpr double kPlot = 260, kLeft = 46, kTop = 14, kBelow = 44;
constexpr uint32_t kFeaturesShown = 8;

std::string fact(std::string_view name, std::string_view value) {
  return "<tr><td>" + xml_escaped(name) + "</td><td class=\"text\">" + xml_escaped(value) + "</td></tr>\n";
}

std::string table(const std::vector<std::string>& heads, const std::string& rows) {
  std::string text = "<div class=\"scroll\">\n<table>\n";
  if (!heads.empty()) {
    text += "<thead>\n<tr>";
    for (const std::string& head : heads) text += "<th scope=\"col\">" + xml_escaped(head) + "</th>";
    text += "</tr>\n</thead>\n";
  }
  return text + "<tbody>\n" + rows + "</tbody>\n</table>\n</div>\n";
}

std::string row(const std::vector<std::string>& cells) {
  std::string text = "<tr>";
  for (const std::string& cell : cells) text += "<td>" + xml_escaped(cell) + "</td>";
  return text + "</tr>\n";
}

std::string section(std::string_view title, const std::string& body) {
  return "<h2>" + std::string(title) + "</h2>\n" + body;
}

std::string paragraph(std::string_view text, std::string_view style = {}) {
  const std::string open = style.empty() ? "<p>" : "<p class=\"" + std::string(style) + "\">";
  return open + xml_escaped(text) + "</p>\n";
}

std::string provenance(const ModelAudit& audit) {
  std::string rows = fact("model file", audit.model_file) + fact("name in it", audit.model.name) +
                     fact("content digest", audit.model.digest) +
                     fact("size", format_bytes(audit.model.file_bytes) + ", " + format_count(audit.model.parameters) +
                                      " parameters, " + counted(audit.model.layers.size(), "layer")) +
                     fact("input", audit.model.input) + fact("output", audit.model.output) +
                     fact("judged on", audit.data_name + ", " + counted(audit.evaluation.examples, "example"));
  if (!audit.data_digest.empty()) rows += fact("digest of the data", audit.data_digest);
  std::string text = table({}, rows);
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
  return text + "<h3>The run</h3>\n" + table({}, rows);
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
  return "<h3>The data's columns</h3>\n" + table({"column", "kind", "range", "mean", "missing"}, rows);
}

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

std::string draw_reliability(const ClassAnswers& answers) {
  Svg svg;
  const auto bins = answers.bins();
  const double width = kPlot / static_cast<double>(bins.size());
  for (size_t i = 0; i < bins.size(); ++i) {
    if (bins[i].examples == 0) continue;
    const double x = kLeft + width * static_cast<double>(i), height = kPlot * bins[i].accuracy(),
                 expected = kPlot * bins[i].confidence();
    const std::string title = counted(bins[i].examples, "example") + ": confidence " +
                              format_percent(bins[i].confidence()) + ", accuracy " + format_percent(bins[i].accuracy());
    svg.rectangle("bar", {x + 1, kTop + kPlot - height}, width - 2, height, 0, 1, title);
    svg.rectangle("gap", {x + 1, kTop + kPlot - std::max(height, expected)}, width - 2, std::fabs(expected - height));
  }
  svg.line("diagonal", {kLeft, kTop + kPlot}, {kLeft + kPlot, kTop});
  svg.line("axis", {kLeft, kTop}, {kLeft, kTop + kPlot});
  svg.line("axis", {kLeft, kTop + kPlot}, {kLeft + kPlot, kTop + kPlot});
  for (const double share : {0.0, 0.5, 1.0}) {
    svg.text("soft", {kLeft - 6, kTop + kPlot * (1 - share) + 4}, format_fixed(share, 1), Anchor::end);
    svg.text("soft", {kLeft + kPlot * share, kTop + kPlot + 16}, format_fixed(share, 1), Anchor::middle);
  }
  svg.text("soft", {kLeft + kPlot / 2, kTop + kPlot + 34}, "confidence (accuracy up)", Anchor::middle);
  return svg.document(kLeft + kPlot + 20, kTop + kPlot + kBelow, chart_style(kDrawingStyle), "Reliability diagram",
                      "accuracy over confidence; on the diagonal they agree");
}

std::string calibration(const ClassAnswers& answers) {
  return paragraph("Expected calibration error: " + format_percent(answers.expected_calibration_error()) + " over " +
                   std::to_string(ClassAnswers::kBins) + " bins. Red is how far accuracy is from confidence.") +
         "<figure>\n" + draw_reliability(answers) + "</figure>\n";
}

std::string class_table(const ModelAudit& audit) {
  const auto classes = audit.classes->classes();
  std::string rows;
  for (size_t i = 0; i < std::min(classes.size(), kClassRowsMax); ++i) {
    rows += row({audit.class_name(i), format_count(classes[i].examples),
                 classes[i].examples > 0 ? format_percent(classes[i].recall()) : "-",
                 classes[i].predicted > 0 ? format_percent(classes[i].precision()) : "-"});
  }
  std::string text = table({"class", "examples", "accuracy (recall)", "precision"}, rows);
  if (classes.size() > kClassRowsMax) text += paragraph(counted(classes.size() - kClassRowsMax, "more class"));
  return text;
}

std::string quality(const ModelAudit& audit) {
  std::string rows = row({"loss (" + audit.loss + ")", format_digits(audit.evaluation.loss_mean)});
  if (audit.classes) rows += row({"accuracy", format_percent(audit.evaluation.accuracy)});
  for (const Measure& measure : audit.measures) rows += row({measure.name, format_digits(measure.value)});
  return table({"measure", "value"}, rows) + (audit.classes ? class_table(audit) : std::string());
}

std::string robustness(const ModelAudit& audit) {
  if (audit.disturbances.empty())
    return paragraph("Not measured: the model has several inputs, or one that is not of numbers.");
  const auto cells = [&](const std::string& what, const Evaluation& evaluation) {
    return row({what, audit.classes ? format_percent(evaluation.accuracy) : "-", format_digits(evaluation.loss_mean)});
  };
  std::string rows = cells("as they are", audit.evaluation);
  for (const Disturbance& one : audit.disturbances) rows += cells(one.what, one.evaluation);
  return table({"inputs", "accuracy", "loss"}, rows);
}

std::string caption(const ModelAudit& audit, const Explanation& one) {
  std::string text = "example " + std::to_string(one.example) + ": ";
  if (!audit.classes) return text + "output " + std::to_string(one.picked) + " is " + format_digits(one.score);
  const int32_t label = reinterpret_cast<const int32_t*>(one.target.data())[0];
  return text + "said to be " + audit.class_name(one.picked) + ", labelled " +
         audit.class_name(static_cast<size_t>(std::max(label, 0)));
}

Result<std::string> pictured(const ModelAudit& audit, const Explanation& one) {
  COT_ASSIGN(const Picture picture, attribution_picture(audit.input, std::span(&one, 1)));
  COT_ASSIGN(const Bytes png, encode_png(picture));
  return "<img alt=\"" + xml_escaped(caption(audit, one)) + "\" src=\"data:image/png;base64," + to_base64(png) +
         "\"/>\n";
}

std::string listed(const ModelAudit& audit, const Explanation& one) {
  const std::vector<std::string> names =
      value_names(one.attribution.shape, audit.contract ? &*audit.contract : nullptr);
  std::string rows;
  for (const size_t i : strongest(one.attribution, kFeaturesShown)) {
    rows += row({names[i], format_digits(static_cast<double>(one.attribution.values[i]))});
  }
  return table({"feature", "attribution"}, rows);
}

std::string checks_table(const AttributionChecks& checks) {
  const auto line = [](const char* what, double own, const std::string& against, bool holds) {
    return row({what, format_fixed(own, 4), against, holds ? "yes" : "no"});
  };
  return table({"check", "attribution", "against", "holds"},
               line("deletion: the output falls faster than in random order", checks.own.deletion,
                    "below " + format_fixed(checks.random.deletion, 4), checks.deletion_holds()) +
                   line("insertion: it rises faster", checks.own.insertion,
                        "above " + format_fixed(checks.random.insertion, 4), checks.insertion_holds()) +
                   line("randomisation: shuffled weights change the picture", checks.randomised_correlation,
                        "below " + format_fixed(AttributionChecks::kCorrelationMax, 4), checks.randomisation_holds()));
}

Result<std::string> explanations(const ModelAudit& audit) {
  if (audit.explanations.empty()) return paragraph("Not explained: " + audit.not_explained);
  const bool is_image = audit.input.size() == 3;
  std::string text = paragraph("Method: " + audit.method + ", from a baseline of zeros. " +
                               (is_image ? "On the right, red speaks for the answer, blue against it."
                                         : "A positive attribution speaks for the answer."));
  for (const Explanation& one : audit.explanations) {
    std::string shown;
    if (is_image) {
      COT_ASSIGN(shown, pictured(audit, one));
    } else {
      shown = listed(audit, one);
    }
    text += "<figure>\n<figcaption>" + xml_escaped(caption(audit, one)) + "</figcaption>\n" + shown + "</figure>\n";
  }
  return text + "<h3>Whether this says anything</h3>\n" + checks_table(*audit.checks);
}

}  // namespace

Result<std::string> report_page(const ModelAudit& audit) {
  COT_ASSIGN(const std::string explained, explanations(audit));
  std::string body = section("Where it comes from", provenance(audit) + contract(audit)) +
                     section("Privacy", privacy(audit)) + section("How good it is", quality(audit));
  if (audit.classes) body += section("How sure it is", calibration(*audit.classes));
  body += section("How robust it is", robustness(audit)) + section("What answers come from", explained);
  const std::string drawing_style = chart_style(kDrawingStyle);
  const std::string_view styles[] = {drawing_style};
  return static_page({.title = "Report on " + audit.model_file,
                      .style = kPageStyle,
                      .drawing_styles = styles,
                      .has_images = audit.input.size() == 3},
                     body);
}

}  // namespace coterie
