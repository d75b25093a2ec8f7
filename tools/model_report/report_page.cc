#include "tools/model_report/report_page.h"

#include "tools/demo/static_page.h"
#include "tools/demo/svg.h"
#include "tools/model_report/page_parts.h"
#include "tools/model_report/report_sections.h"

namespace coterie {
namespace {

constexpr std::string_view kPageStyle = R"(:root { color-scheme: light dark; }
body { margin: 16px auto; padding: 0 16px; max-width: 960px; line-height: 1.45; background: #ffffff; color: #1b2330; }
body { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 24px; overflow-wrap: anywhere; }
h2 { margin-top: 36px; font-size: 18px; border-bottom: 1px solid #8885; }
h3 { margin: 20px 0 6px; font-size: 15px; }
p { max-width: 72ch; }
h1, h2, p, li { overflow-wrap: anywhere; }
.scroll { margin: 8px 0; overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 12px; text-align: right; vertical-align: top; font-weight: 400; border-bottom: 1px solid #8884; }
td { white-space: nowrap; }
td.pair { white-space: normal; }
td.pair span { white-space: nowrap; color: #5d6778; font-weight: 400; }
thead th { font-weight: 600; vertical-align: bottom; }
th:first-child { padding-left: 0; min-width: 7em; text-align: left; overflow-wrap: anywhere; }
td.text { min-width: 8em; text-align: left; white-space: normal; overflow-wrap: anywhere; }
.drawn svg { display: block; }
.worst th, .worst td { font-weight: 600; }
.rest th, .rest td, .soft { color: #5d6778; }
.bad { color: #b3261e; font-weight: 600; }
figure { margin: 12px 0; }
figure img { max-width: 100%; image-rendering: pixelated; }
figcaption { overflow-wrap: anywhere; }
figure svg { max-width: 100%; height: auto; }
pre { padding: 8px 10px; overflow-x: auto; background: #8882; }
summary { cursor: pointer; }
@media (max-width: 480px) { th, td { padding: 4px 6px; } th:first-child { min-width: 4.5em; } }
@media screen and (prefers-color-scheme: dark) {
body { background: #12161c; color: #e6eaf0; }
.rest th, .rest td, .soft, td.pair span { color: #9aa5b5; }
.bad { color: #ff8a80; }
svg text { fill: #e6eaf0; }
svg .soft { fill: #9aa5b5; }
svg .axis { stroke: #667085; }
svg .bar, svg .dot { fill: #7aa7ff; }
svg .gap { fill: #ff8a80; }
svg .own { stroke: #7aa7ff; }
svg .whisker { stroke: #e6eaf0; }
svg .track { stroke: #3a4553; }
}
@media print {
:root { color-scheme: light; }
body { max-width: none; font-size: 10pt; }
.scroll, pre { overflow: visible; }
td { white-space: normal; }
h2, h3, figcaption { break-after: avoid; }
figure, tr, pre { break-inside: avoid; }
}
)";

constexpr std::string_view kDrawingStyle = R"(.bar { fill: #2459c9; }
.gap { fill: #c0392b; opacity: .7; }
.diagonal { stroke: #5d6778; stroke-dasharray: 3 3; }
.whisker { stroke: #1b2330; stroke-width: 1.5; }
.track { stroke: #d5dbe4; stroke-width: 2; }
.dot { fill: #2459c9; }
.own { fill: none; stroke: #2459c9; stroke-width: 2; }
.random { fill: none; stroke: #5d6778; stroke-dasharray: 4 3; }
)";

}  // namespace

std::string_view drawing_style() {
  static const std::string style = chart_style(kDrawingStyle);
  return style;
}

Result<std::string> report_page(const ModelAudit& audit) {
  COT_ASSIGN(const std::string explained, explanation_section(audit));
  std::string body = glance_section(audit) + provenance_section(audit) + privacy_section(audit) +
                     quality_section(audit) + fairness_section(audit);
  if (audit.classes) body += calibration_section(audit);
  body += robustness_section(audit) + explained;
  const std::string_view styles[] = {drawing_style()};
  return static_page({.title = "Report on " + audit.model_file,
                      .style = kPageStyle,
                      .drawing_styles = styles,
                      .has_images = audit.input.size() == 3},
                     body);
}

}  // namespace coterie
