#include <algorithm>

#include "base/text/base64.h"
#include "tools/cli/table.h"
#include "tools/demo/svg.h"
#include "tools/explain/attribution_picture.h"
#include "tools/explain/feature_names.h"
#include "tools/model_report/page_parts.h"
#include "tools/model_report/report_sections.h"

namespace coterie {
namespace {

constexpr uint32_t kFeaturesShown = 8;

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
  return "<img alt=\"" + page_text(caption(audit, one)) + "\" src=\"data:image/png;base64," + to_base64(png) + "\"/>\n";
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

constexpr double kCurveWidth = 150, kCurveHeight = 100, kCurveMargin = 8, kCurveBelow = 24;

// One curve of the attribution's order, and dashed that of random orders; up is from the lowest to the highest output.
std::string draw_curve(const std::string& title, const std::vector<double>& own, const std::vector<double>& random) {
  double low = own.front(), high = low;
  for (const auto* points : {&own, &random}) {
    for (const double point : *points) {
      low = std::min(low, point);
      high = std::max(high, point);
    }
  }
  Svg svg;
  const auto path = [&](const char* style, const std::vector<double>& points) {
    std::vector<Svg::Point> places;
    for (size_t i = 0; i < points.size(); ++i) {
      const double right = static_cast<double>(i) / static_cast<double>(points.size() - 1);
      const double up = high > low ? (points[i] - low) / (high - low) : 0.5;
      places.emplace_back(kCurveMargin + kCurveWidth * right, kCurveMargin + kCurveHeight * (1 - up));
    }
    svg.path(style, places);
  };
  const double floor = kCurveMargin + kCurveHeight;
  svg.line("axis", {kCurveMargin, floor}, {kCurveMargin + kCurveWidth, floor});
  svg.line("axis", {kCurveMargin, kCurveMargin}, {kCurveMargin, floor});
  path("random", random);
  path("own", own);
  svg.text("soft", {kCurveMargin + kCurveWidth / 2, floor + 16}, title, Anchor::middle);
  return svg.document(
      kCurveWidth + 2 * kCurveMargin, floor + kCurveBelow, drawing_style(), title,
      "the output from " + format_digits(low) + " to " + format_digits(high) + "; dashed: random orders");
}

std::string curves(const AttributionChecks& checks) {
  if (checks.own.falling.size() < 2 || checks.random.falling.size() < 2) return {};
  return "<figure>\n" + draw_curve("deletion", checks.own.falling, checks.random.falling) +
         draw_curve("insertion", checks.own.rising, checks.random.rising) +
         "<figcaption>The output as values go and as they come, the strongest first; dashed in random order. The mean "
         "over the examples.</figcaption>\n</figure>\n";
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
    text += "<figure>\n<figcaption>" + page_text(caption(audit, one)) + "</figcaption>\n" + shown + "</figure>\n";
  }
  return text + subsection("Whether this says anything", checks_table(*audit.checks) + curves(*audit.checks));
}

}  // namespace

Result<std::string> explanation_section(const ModelAudit& audit) {
  COT_ASSIGN(const std::string explained, explanations(audit));
  return section("What answers come from", explained);
}

}  // namespace coterie
