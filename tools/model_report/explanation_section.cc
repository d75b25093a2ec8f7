#include <algorithm>

#include "base/text/base64.h"
#include "tools/cli/table.h"
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
  return text + subsection("Whether this says anything", checks_table(*audit.checks));
}

}  // namespace

Result<std::string> explanation_section(const ModelAudit& audit) {
  COT_ASSIGN(const std::string explained, explanations(audit));
  return section("What answers come from", explained);
}

}  // namespace coterie
