#include "tools/roofline/roofline_chart.h"

#include <algorithm>
#include <cmath>

#include "tools/cli/table.h"
#include "tools/demo/svg.h"

namespace coterie {
namespace {

constexpr double kWidth = 720, kHeight = 440, kLeft = 64, kRight = 24, kTop = 60, kBottom = 64;
constexpr double kDotMin = 3, kDotMax = 11;
constexpr int kTitleColumns = 60;
constexpr std::string_view kStyle = R"(.roof { fill: none; stroke: #1b2330; stroke-width: 2; }
.slant { fill: none; stroke: #8a94a6; }
.compute { fill: #2459c9; fill-opacity: 0.75; }
.memory { fill: #b45309; fill-opacity: 0.75; }
)";

// Powers of 10 that hold all of it.
struct Decades {
  int low = 0, high = 1;
  double from = 0, to = 1;  // pixels

  double at(double value) const {
    const double share = (std::log10(value) - low) / (high - low);
    return from + std::clamp(share, 0.0, 1.0) * (to - from);
  }
};

Decades decades(double low, double high, double from, double to) {
  Decades axis{.low = static_cast<int>(std::floor(std::log10(low))),
               .high = static_cast<int>(std::ceil(std::log10(high))),
               .from = from,
               .to = to};
  axis.high = std::max(axis.high, axis.low + 1);
  return axis;
}

std::string power_text(int power) {
  return power >= 0 ? format_count(static_cast<uint64_t>(std::llround(std::pow(10, power))))
                    : format_digits(std::pow(10, power));
}

void draw_axes(Svg& svg, const Decades& x, const Decades& y) {
  for (int power = x.low; power <= x.high; ++power) {
    const double at = x.at(std::pow(10, power));
    svg.line("rule", {at, kTop}, {at, kHeight - kBottom});
    svg.text("soft", {at, kHeight - kBottom + 18}, power_text(power), Anchor::middle);
  }
  for (int power = y.low; power <= y.high; ++power) {
    const double at = y.at(std::pow(10, power));
    svg.line("rule", {kLeft, at}, {kWidth - kRight, at});
    svg.text("soft", {kLeft - 8, at + 4}, power_text(power), Anchor::end);
  }
  svg.text("soft", {(kLeft + kWidth - kRight) / 2, kHeight - kBottom + 36}, "FLOP a byte", Anchor::middle);
}

std::string dot_title(const RoofedOp& op) {
  const RoofedTime all = op.all();
  const std::string name = op.name.empty() ? op.kind : printable(op.name) + ", " + op.kind;
  return name + ": " + format_digits(all.flops / all.seconds / 1e9) + " GFLOP/s, " + format_percent(all.share()) +
         " of its roof, bound by " + std::string(to_string(all.bound()));
}

}  // namespace

std::string draw_roofline(const std::vector<RoofedOp>& ops, const MachinePeaks& peaks, const std::string& title) {
  std::vector<const RoofedOp*> drawn;
  const double step = std::max(sum_of(ops).seconds, 1e-12), peak = peaks.flops_per_second / 1e9;
  double least = 1, most = 100, slowest = peak;
  for (const RoofedOp& op : ops) {
    const RoofedTime all = op.all();
    if (!(all.flops > 0) || all.bytes == 0 || !(all.seconds > 0)) continue;
    drawn.push_back(&op);
    least = std::min(least, all.intensity());
    most = std::max(most, all.intensity());
    slowest = std::min(slowest, all.flops / all.seconds / 1e9);
  }
  const Decades x = decades(least, most, kLeft, kWidth - kRight),
                y = decades(std::max(slowest, peak * 1e-6), peak * 1.5, kHeight - kBottom, kTop);
  Svg svg;
  svg.rectangle("paper", {0, 0}, kWidth, kHeight);
  svg.text("title", {kLeft, 24}, shortened(title, kTitleColumns));
  svg.text("soft", {kLeft, 44}, "GFLOP/s; blue is bound by computing, brown by memory; lines are what the machine can");
  draw_axes(svg, x, y);
  for (const MemoryRate& rate : peaks.memory) {
    const double gigabytes = rate.bytes_per_second / 1e9, ridge = peak / gigabytes;
    const double floor = std::max(std::pow(10, x.low), std::pow(10, y.low) / gigabytes);
    if (floor < ridge) svg.line("slant", {x.at(floor), y.at(floor * gigabytes)}, {x.at(ridge), y.at(peak)});
  }
  const double first_ridge = peak / (peaks.memory.front().bytes_per_second / 1e9);
  svg.line("roof", {x.at(first_ridge), y.at(peak)}, {kWidth - kRight, y.at(peak)});
  svg.text("soft", {kWidth - kRight, y.at(peak) - 6}, format_digits(peak) + " GFLOP/s", Anchor::end);
  for (const RoofedOp* op : drawn) {
    const RoofedTime all = op->all();
    const double radius = kDotMin + (kDotMax - kDotMin) * std::sqrt(all.seconds / step);
    // A rectangle of full rounding is a circle that has a title.
    svg.rectangle(to_string(all.bound()),
                  {x.at(all.intensity()) - radius, y.at(all.flops / all.seconds / 1e9) - radius}, 2 * radius,
                  2 * radius, radius, 1, dot_title(*op));
  }
  if (drawn.size() < ops.size()) {
    svg.text("soft", {kLeft, kHeight - 8}, counted(ops.size() - drawn.size(), "op") + " without operations: not drawn");
  }
  return svg.document(kWidth, kHeight, chart_style(kStyle), "Roofline of " + title,
                      counted(drawn.size(), "op") + " by operations a byte and a second, below what the machine can");
}

}  // namespace coterie
