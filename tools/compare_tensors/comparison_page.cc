#include "tools/compare_tensors/comparison_page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string_view>

#include "tools/demo/static_page.h"
#include "tools/demo/svg.h"
#include "tools/model/inspect.h"

namespace coterie {
namespace {

constexpr std::string_view kPageStyle = R"(:root { color-scheme: light dark; }
body { margin: 16px; font: 14px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1, p { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 10px; text-align: right; border-bottom: 1px solid #8885; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.apart { color: #c0392b; font-weight: 600; }
figure { display: inline-block; margin: 12px 12px 12px 0; vertical-align: top; }
figcaption { max-width: 560px; overflow-wrap: anywhere; }
figure svg { width: 560px; max-width: 100%; height: auto; }
)";

constexpr std::string_view kDrawingStyle = R"(.cell { fill: #2459c9; }
.diagonal { stroke: #c0392b; stroke-dasharray: 3 3; }
.bar_a { fill: #2459c9; }
.bar_b { fill: #d9822b; }
)";

constexpr double kPlot = 220, kLeft = 20, kTop = 30, kGap = 60;

std::string number(double value) {
  if (!std::isfinite(value)) return "not finite";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

void draw_scatter(Svg& svg, const TensorPicture& picture) {
  const double cell = kPlot / static_cast<double>(TensorPicture::kCells);
  const uint32_t most = picture.cells.empty() ? 0 : *std::ranges::max_element(picture.cells);
  for (size_t row = 0; row < TensorPicture::kCells; ++row) {
    for (size_t column = 0; column < TensorPicture::kCells; ++column) {
      const uint32_t count = picture.cells[row * TensorPicture::kCells + column];
      if (count == 0) continue;
      const double share = most > 1 ? std::log1p(count) / std::log1p(most) : 1;
      svg.rectangle("cell",
                    {kLeft + cell * static_cast<double>(column), kTop + kPlot - cell * static_cast<double>(row + 1)},
                    cell, cell, 0, 0.25 + 0.75 * share);
    }
  }
  svg.line("diagonal", {kLeft, kTop + kPlot}, {kLeft + kPlot, kTop});
  svg.text("soft", {kLeft, kTop - 10}, "a (up) over b");
  svg.text("soft", {kLeft, kTop + kPlot + 18}, number(picture.low));
  svg.text("soft", {kLeft + kPlot, kTop + kPlot + 18}, number(picture.high), Anchor::end);
}

void draw_histogram(Svg& svg, const TensorPicture& picture) {
  const double left = kLeft + kPlot + kGap, width = kPlot / static_cast<double>(TensorPicture::kBins);
  const uint32_t most = std::max(*std::ranges::max_element(picture.bins_a), *std::ranges::max_element(picture.bins_b));
  const auto height = [&](uint32_t count) { return most == 0 ? 0 : kPlot * count / most; };
  for (size_t i = 0; i < TensorPicture::kBins; ++i) {
    const double x = left + width * static_cast<double>(i);
    svg.rectangle("bar_a", {x, kTop + kPlot - height(picture.bins_a[i])}, width / 2, height(picture.bins_a[i]));
    svg.rectangle("bar_b", {x + width / 2, kTop + kPlot - height(picture.bins_b[i])}, width / 2,
                  height(picture.bins_b[i]));
  }
  svg.text("soft", {left, kTop - 10}, "values of a (left bars) and b (right bars)");
  svg.text("soft", {left, kTop + kPlot + 18}, number(picture.low));
  svg.text("soft", {left + kPlot, kTop + kPlot + 18}, number(picture.high), Anchor::end);
}

std::string figure_of(const ComparedTensor& tensor) {
  Svg svg;
  draw_scatter(svg, tensor.picture);
  draw_histogram(svg, tensor.picture);
  std::string caption = tensor.title() + ": " + std::string(to_string(tensor.verdict));
  for (const std::string& note : tensor.notes) caption += "; " + note;
  return "<figure>\n<figcaption" + std::string(is_apart(tensor.verdict) ? " class=\"apart\"" : "") + ">" +
         xml_escaped(caption) + "</figcaption>\n" +
         svg.document(2 * kPlot + kGap + 2 * kLeft, kPlot + 2 * kTop, chart_style(kDrawingStyle), tensor.title(),
                      "values of a over those of b, and how each are spread") +
         "</figure>\n";
}

std::string row_of(const ComparedTensor& tensor) {
  const TensorDifference& d = tensor.difference;
  std::string row = "<tr><td>" + xml_escaped(tensor.title()) + "</td><td>" + xml_escaped(tensor.kind) + "</td><td>" +
                    shape_text(tensor.shape) + "</td><td" + (is_apart(tensor.verdict) ? " class=\"apart\"" : "") + ">" +
                    std::string(to_string(tensor.verdict)) + (tensor.is_origin ? ", a cause" : "") + "</td>";
  if (tensor.verdict == TensorVerdict::shape) {
    return row + "<td colspan=\"12\">of b: " + shape_text(tensor.other_shape) + "</td></tr>\n";
  }
  const std::string spread_a = number(d.mean_a) + "; " + number(d.deviation_a);
  const std::string spread_b = number(d.mean_b) + "; " + number(d.deviation_b);
  for (const std::string& cell :
       {number(d.cosine), number(d.absolute_max), number(d.relative_sum), number(d.euclidean), number(d.divergence),
        spread_a, spread_b, number(d.absolute_mean), number(d.root_mean_square), number(d.relative_max),
        number(d.relative_mean), std::to_string(d.outside)}) {
    row += "<td>" + cell + "</td>";
  }
  return row + "</tr>\n";
}

std::string table_of(const TensorComparison& comparison) {
  std::string table = "<div class=\"scroll\">\n<table>\n<thead>\n<tr>";
  for (const char* title :
       {"tensor", "op", "shape", "verdict", "cosine", "max absolute error", "accumulated relative error",
        "relative Euclidean distance", "KL divergence", "mean; deviation of a", "mean; deviation of b",
        "mean absolute error", "root mean square error", "max relative error", "mean relative error", "outside"}) {
    table += "<th scope=\"col\">" + std::string(title) + "</th>";
  }
  table += "</tr>\n</thead>\n<tbody>\n";
  for (const ComparedTensor& tensor : comparison.tensors) table += row_of(tensor);
  return table + "</tbody>\n</table>\n</div>\n";
}

std::string pictures_of(const TensorComparison& comparison) {
  std::vector<size_t> order(comparison.tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto rank = [&](size_t i) {
    const ComparedTensor& tensor = comparison.tensors[i];
    return tensor.is_origin ? 0 : is_apart(tensor.verdict) ? 1 : 2;
  };
  std::ranges::stable_sort(order, {}, rank);
  std::string text;
  size_t drawn = 0;
  for (const size_t i : order) {
    if (comparison.tensors[i].picture.cells.empty()) continue;  // of unlike shapes
    if (++drawn > kPicturesMax) break;
    text += figure_of(comparison.tensors[i]);
  }
  return text;
}

std::string list_of(const std::string& what, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string text = "<p>only in " + what + ":";
  for (const std::string& name : names) text += " " + xml_escaped(name) + ";";
  return text + "</p>\n";
}

std::string inputs_of(const TensorComparison& comparison) {
  return comparison.inputs.empty() ? "" : "<p>inputs: " + xml_escaped(comparison.inputs) + "</p>\n";
}

}  // namespace

std::string comparison_page(const TensorComparison& comparison, const std::string& a, const std::string& b) {
  const std::string title = a + " and " + b + ", tensor by tensor";
  const ComparedTensor* const first = comparison.first_apart();
  const bool is_all = comparison.only_a.empty() && comparison.only_b.empty();
  const std::string found = first != nullptr ? "the first that is apart: " + first->title()
                            : is_all         ? "everything agrees"
                                             : "what both have agrees";
  const std::string drawing_style = chart_style(kDrawingStyle);
  const std::string_view drawing_styles[] = {drawing_style};
  return static_page({.title = title, .style = kPageStyle, .drawing_styles = drawing_styles},
                     "<p>a is " + xml_escaped(a) + ", b, the reference, is " + xml_escaped(b) + "; the tolerance is " +
                         number(comparison.tolerance) + " of the largest value of b</p>\n" + inputs_of(comparison) +
                         "<p>" + xml_escaped(found) + "</p>\n" + table_of(comparison) +
                         list_of("a", comparison.only_a) + list_of("b", comparison.only_b) + pictures_of(comparison));
}

}  // namespace coterie
