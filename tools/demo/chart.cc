#include "tools/demo/chart.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tools/cli/table.h"
#include "tools/cli/terminal.h"
#include "tools/demo/chart_page.h"
#include "tools/demo/chart_scale.h"
#include "tools/demo/svg.h"

namespace coterie {
namespace {

constexpr double kWidth = 960;
constexpr double kLeft = 64;
constexpr double kPanelTop = 124, kPanelHeight = 232, kPanelWidth = 316;
constexpr double kSecondLeft = 538;
constexpr double kStripTop = 448, kStripLeft = 64, kStripWidth = 840;
constexpr double kCellHeight = 17, kBarsHeight = 36;
constexpr double kColumnMax = 60;
constexpr double kLabelGap = 17;
constexpr size_t kDevicesShownMax = 120;

// No custom properties: several programs that show SVG do not know them.
constexpr std::string_view kStyle =
    R"(.heading { font-size: 14px; font-weight: 600; }
.value { font-size: 14px; font-weight: 600; }
.main, .value { fill: #2459c9; }
.other { fill: #b45309; }
.curve { fill: none; stroke: #2459c9; stroke-width: 2.25; stroke-linejoin: round; stroke-linecap: round; }
.dashed { fill: none; stroke: #b45309; stroke-width: 2; stroke-dasharray: 5 4; stroke-linejoin: round; }
.dot { fill: #2459c9; stroke: #ffffff; stroke-width: 2; }
.dot2 { fill: #b45309; stroke: #ffffff; stroke-width: 2; }
.empty { fill: #f1f4f8; }
.count { font-size: 10px; }
.on { fill: #ffffff; }
.bar { fill: #f0b57a; }
)";

using Value = std::function<std::optional<double>(const ChartRound&)>;

struct Panel {
  double left;
  Scale x, y;
};

// The points of one curve, in pieces: where a value is missing or not a number, the curve is interrupted.
std::vector<std::vector<Svg::Point>> curve_of(const ChartData& data, const Panel& panel, const Value& value) {
  std::vector<std::vector<Svg::Point>> pieces(1);
  for (const ChartRound& round : data.rounds) {
    const std::optional<double> v = value(round);
    if (v && std::isfinite(*v)) {
      pieces.back().emplace_back(panel.x.at(static_cast<double>(round.number)),
                                 panel.y.at(std::clamp(*v, panel.y.low, panel.y.high)));
    } else if (!pieces.back().empty()) {
      pieces.emplace_back();
    }
  }
  if (pieces.back().empty()) pieces.pop_back();
  return pieces;
}

std::optional<double> last_of(const ChartData& data, const Value& value) {
  for (auto round = data.rounds.rbegin(); round != data.rounds.rend(); ++round) {
    if (const std::optional<double> v = value(*round); v && std::isfinite(*v)) return v;
  }
  return std::nullopt;
}

void draw_axes(Svg& svg, const Panel& panel, const std::string& heading, const std::string& y_suffix, double y_factor) {
  const double right = panel.left + kPanelWidth, bottom = kPanelTop + kPanelHeight;
  svg.text("heading", {panel.left - 40, kPanelTop - 20}, heading);
  const std::vector<double> y_ticks = round_ticks(panel.y.low * y_factor, panel.y.high * y_factor, 5);
  const double y_step = y_ticks.size() > 1 ? y_ticks[1] - y_ticks[0] : 1;
  for (const double tick : y_ticks) {
    const double y = panel.y.at(tick / y_factor);
    svg.line(tick == y_ticks.front() ? "axis" : "rule", {panel.left, y}, {right, y});
    svg.text("soft", {panel.left - 8, y + 4}, tick_text(tick, y_step) + y_suffix, Anchor::end);
  }
  for (const double tick : round_ticks(panel.x.low, panel.x.high, 8)) {
    if (tick != std::floor(tick)) continue;
    const double x = panel.x.at(tick);
    svg.line("axis", {x, bottom}, {x, bottom + 4});
    svg.text("soft", {x, bottom + 19}, tick_text(tick, 1), Anchor::middle);
  }
  svg.text("soft", {panel.left + kPanelWidth / 2, bottom + 38}, "round", Anchor::middle);
}

Panel panel_at(const ChartData& data, double left, double high) {
  const double last = data.rounds.empty() ? 1 : std::max<double>(1, static_cast<double>(data.rounds.back().number));
  const double first = data.rounds.empty() ? 0 : static_cast<double>(data.rounds.front().number);
  return {left,
          {.low = std::min(first, last - 1), .high = last, .from = left, .to = left + kPanelWidth},
          {.low = 0, .high = high, .from = kPanelTop + kPanelHeight, .to = kPanelTop}};
}

void draw_curve(Svg& svg, const std::vector<std::vector<Svg::Point>>& pieces, std::string_view style,
                std::string_view dot_style) {
  for (const auto& piece : pieces) svg.path(style, piece);
  if (!pieces.empty()) svg.circle(dot_style, pieces.back().back(), 4.5);
}

std::optional<double> accuracy(const ChartRound& round) { return round.accuracy; }
std::optional<double> held_out(const ChartRound& round) { return round.held_out_loss; }
std::optional<double> training(const ChartRound& round) { return round.training_loss; }

Panel accuracy_panel(const ChartData& data) { return panel_at(data, kLeft + 40, 1); }

Panel loss_panel(const ChartData& data) {
  double highest = 0;
  for (const ChartRound& round : data.rounds) {
    for (const auto& v : {held_out(round), training(round)}) {
      if (v && std::isfinite(*v)) highest = std::max(highest, *v);
    }
  }
  return panel_at(data, kSecondLeft + 40, round_up_to_tick(highest, 5));
}

void draw_accuracy(Svg& svg, const ChartData& data) {
  const Panel panel = accuracy_panel(data);
  if (data.is_of_numbers) draw_axes(svg, panel, "R2 on held-out examples", "", 1);
  else draw_axes(svg, panel, "Accuracy on held-out examples", " %", 100);
  const auto pieces = curve_of(data, panel, accuracy);
  draw_curve(svg, pieces, "curve", "dot");
  if (const std::optional<double> last = last_of(data, accuracy)) {
    const Svg::Point end = pieces.back().back();
    svg.text("value", {end.first + 10, end.second + 5},
             data.is_of_numbers ? format_fixed(*last, 3) : format_percent(*last));
  }
}

void draw_loss(Svg& svg, const ChartData& data) {
  const Panel panel = loss_panel(data);
  draw_axes(svg, panel, "Loss (" + data.loss_name + ")", "", 1);
  const auto training_curve = curve_of(data, panel, training), held_out_curve = curve_of(data, panel, held_out);
  draw_curve(svg, training_curve, "dashed", "dot2");
  draw_curve(svg, held_out_curve, "curve", "dot");
  if (held_out_curve.empty() || training_curve.empty()) return;
  const Svg::Point a = held_out_curve.back().back(), b = training_curve.back().back();
  const auto places = spread({a.second, b.second}, kLabelGap, kPanelTop, kPanelTop + kPanelHeight);
  svg.text("main", {a.first + 10, places[0] + 4}, "held-out");
  svg.text("other", {b.first + 10, places[1] + 4}, "training");
}

// One column a device, as many as fit.
struct Columns {
  size_t count;
  double step, width;
  bool has_room;  // for a number

  double left(size_t device) const { return kStripLeft + static_cast<double>(device) * step; }
  double middle(size_t device) const { return left(device) + width / 2; }
};

Columns columns_of(const ChartData& data) {
  const size_t count = std::min(data.label_counts.size(), kDevicesShownMax);
  const double step = std::min(kColumnMax, kStripWidth / static_cast<double>(std::max<size_t>(1, count)));
  const double gap = step > 8 ? 2 : step > 4 ? 1 : 0;
  return {count, step, step - gap, step >= 24};
}

constexpr size_t kLabelTextMax = 9;  // characters of a class name, left of its row

std::string label_name(const ChartData& data, size_t label) {
  return label < data.class_names.size() ? data.class_names[label] : std::to_string(label);
}

std::string label_text(const ChartData& data, size_t label) {
  const std::string name = label_name(data, label);
  return width_of(name) <= static_cast<int>(kLabelTextMax) ? name : fit(name, kLabelTextMax - 2) + "..";
}

// Devices side by side, labels below each other, the number of examples as strength of colour.
double draw_split(Svg& svg, const ChartData& data, double top) {
  const Columns columns = columns_of(data);
  if (columns.count == 0) return top - 40;
  const size_t labels = data.label_counts[0].size();
  uint32_t most = 1;
  for (const auto& counts : data.label_counts) most = std::max(most, *std::max_element(counts.begin(), counts.end()));
  std::string heading = data.is_of_numbers ? "Who has how much: examples on each device"
                                           : "Who has what: examples of each label on each device";
  if (columns.count < data.label_counts.size()) {
    heading += " (the first " + std::to_string(columns.count) + " of " + std::to_string(data.label_counts.size()) + ")";
  }
  svg.text("heading", {kStripLeft, top - 14}, heading);
  if (data.class_names.empty()) {
    svg.text("soft", {kStripLeft - 26, top + static_cast<double>(labels) * kCellHeight / 2 + 4}, "label", Anchor::end);
  }
  for (size_t label = 0; label < labels; ++label) {
    const double y = top + static_cast<double>(label) * kCellHeight;
    svg.text("soft", {kStripLeft - 10, y + kCellHeight - 5}, label_text(data, label), Anchor::end);
    for (size_t device = 0; device < columns.count; ++device) {
      const Svg::Point corner = {columns.left(device), y};
      const uint32_t count = data.label_counts[device][label];
      svg.rectangle("empty", corner, columns.width, kCellHeight - 2, 2);
      if (count == 0) continue;
      const double strength = std::sqrt(static_cast<double>(count) / most);
      const std::string title = "device " + std::to_string(device + 1) + (data.is_of_numbers ? ", " : ", label ") +
                                label_name(data, label) + ": " + std::to_string(count);
      svg.rectangle("main", corner, columns.width, kCellHeight - 2, 2, 0.12 + 0.88 * strength, title);
      if (!columns.has_room) continue;
      svg.text(strength > 0.55 ? "count on" : "count", {columns.middle(device), y + kCellHeight - 6},
               std::to_string(count), Anchor::middle);
    }
  }
  return top + static_cast<double>(labels) * kCellHeight;
}

// Below each device's column, in how many rounds it trained. Returns where the drawing ends.
double draw_participation(Svg& svg, const ChartData& data, double top) {
  const Columns columns = columns_of(data);
  if (columns.count == 0) return top;
  const bool has_bars = data.rounds_trained.size() == data.label_counts.size();
  double base = top;
  if (has_bars) {
    svg.text("heading", {kStripLeft, top + 34}, "In how many rounds each device trained");
    base = top + 64 + kBarsHeight;
    const uint32_t most = *std::max_element(data.rounds_trained.begin(), data.rounds_trained.end());
    for (size_t device = 0; device < columns.count; ++device) {
      const uint32_t rounds = data.rounds_trained[device];
      const double height = std::max(1.0, kBarsHeight * rounds / std::max(1u, most));
      const std::string title = "device " + std::to_string(device + 1) + ": " + std::to_string(rounds) + " rounds";
      svg.rectangle("bar", {columns.left(device), base - height}, columns.width, height, 1, 1, title);
      if (!columns.has_room) continue;
      svg.text("count soft", {columns.middle(device), base - height - 4}, std::to_string(rounds), Anchor::middle);
    }
  }
  for (size_t device = 0; device < columns.count; ++device) {
    const bool marked = columns.has_room || device == 0 || (device + 1) % 10 == 0;
    if (marked) svg.text("soft", {columns.middle(device), base + 17}, std::to_string(device + 1), Anchor::middle);
  }
  svg.text("soft", {(kStripLeft + columns.left(columns.count)) / 2, base + 37}, "device", Anchor::middle);
  return base + 37;
}

}  // namespace

std::string draw_chart(const ChartData& data) {
  Svg svg;
  svg.rectangle("paper", {0, 0}, kWidth, 10'000);
  svg.text("title", {kLeft, 44}, data.title);
  svg.text("soft", {kLeft, 68}, data.subtitle);
  draw_accuracy(svg, data);
  draw_loss(svg, data);
  const double bottom = draw_participation(svg, data, draw_split(svg, data, kStripTop));
  return svg.document(kWidth, bottom + 24, chart_style(kStyle), data.title, data.subtitle);
}

std::string draw_chart_page(const ChartData& data) {
  ChartPage page{.title = data.title, .svg = draw_chart(data), .top = kPanelTop, .bottom = kPanelTop + kPanelHeight};
  page.columns = {{data.is_of_numbers ? "R2" : "accuracy", "main", !data.is_of_numbers},
                  {"held-out loss", "main"},
                  {"training loss", "other"}};
  const Panel left = accuracy_panel(data), right = loss_panel(data);
  const auto cell = [](const Panel& panel, const ChartRound& round, const std::optional<double>& value) {
    PageCell made{.value = value, .x = panel.x.at(static_cast<double>(round.number))};
    if (value && std::isfinite(*value)) made.y = panel.y.at(std::clamp(*value, 0.0, panel.y.high));
    return made;
  };
  for (const ChartRound& round : data.rounds) {
    page.rows.push_back({round.number,
                         {cell(left, round, accuracy(round)), cell(right, round, held_out(round)),
                          cell(right, round, training(round))}});
  }
  return html_page(page);
}

std::string draw_holdings(const ChartData& data) {
  constexpr double kTop = 130;
  Svg svg;
  svg.rectangle("paper", {0, 0}, kWidth, 10'000);
  svg.text("title", {kLeft, 44}, data.title);
  svg.text("soft", {kLeft, 68}, data.subtitle);
  const double bottom = draw_participation(svg, data, draw_split(svg, data, kTop));
  return svg.document(kWidth, bottom + 24, chart_style(kStyle), data.title, data.subtitle);
}

}  // namespace coterie
