#include "tools/vertical/loss_chart.h"

#include <algorithm>
#include <cmath>

#include "tools/cli/table.h"
#include "tools/demo/svg.h"

namespace coterie {
namespace {

constexpr double kWidth = 640, kHeight = 320, kLeft = 56, kRight = 24, kTop = 56, kBottom = 44;
constexpr int kLinesMax = 5;

// A round number of which so many at most reach `value`.
double step_of(double value) {
  const double rough = std::max(value, 1e-6) / kLinesMax, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::string draw_losses(const std::vector<double>& losses) {
  // Estimates of turned labels' losses may be below 0.
  const double largest = std::max(*std::ranges::max_element(losses), 0.0);
  const double smallest = std::min(*std::ranges::min_element(losses), 0.0);
  const double step = step_of(largest - smallest);
  const int first = static_cast<int>(std::floor(smallest / step)), last = static_cast<int>(std::ceil(largest / step));
  const double least = first * step, most = std::max(last, first + 1) * step;
  const double width = kWidth - kLeft - kRight, height = kHeight - kTop - kBottom;
  const auto y = [&](double loss) { return kTop + height * (most - loss) / (most - least); };
  const auto x = [&](size_t epoch) {
    return kLeft +
           (losses.size() == 1 ? width : width * static_cast<double>(epoch) / static_cast<double>(losses.size() - 1));
  };
  Svg svg;
  svg.rectangle("paper", {0, 0}, kWidth, kHeight);
  svg.text("title", {kLeft, 24}, "Log loss on the people trained on");
  svg.text("soft", {kLeft, 42}, "mean over an epoch's steps, as the label party met it");
  for (int line = first; line * step <= most; ++line) {
    svg.line(line == 0 ? "axis" : "rule", {kLeft, y(step * line)}, {kWidth - kRight, y(step * line)});
    svg.text("soft", {kLeft - 8, y(step * line) + 4}, svg_number(step * line), Anchor::end);
  }
  std::vector<Svg::Point> points;
  for (size_t epoch = 0; epoch < losses.size(); ++epoch) points.emplace_back(x(epoch), y(losses[epoch]));
  svg.path("loss", points);
  svg.circle("dot", points.back(), 3.5);
  svg.text("value", {points.back().first, points.back().second - 10}, format_fixed(losses.back(), 3), Anchor::end);
  svg.text("soft", {kLeft, kHeight - 20}, "epoch 1");
  svg.text("soft", {kWidth - kRight, kHeight - 20}, "epoch " + std::to_string(losses.size()), Anchor::end);
  return svg.document(kWidth, kHeight, chart_style(".loss{fill:none;stroke:#1f5a9e;stroke-width:2}.dot{fill:#1f5a9e}"),
                      "Log loss by epoch",
                      "From " + format_fixed(losses.front(), 3) + " to " + format_fixed(losses.back(), 3) + " in " +
                          counted(losses.size(), "epoch"));
}

}  // namespace coterie
