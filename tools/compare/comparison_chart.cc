#include <algorithm>
#include <cmath>
#include <map>

#include "tools/cli/table.h"
#include "tools/compare/comparison.h"
#include "tools/demo/chart_page.h"
#include "tools/demo/chart_scale.h"
#include "tools/demo/svg.h"

namespace coterie {
namespace {

constexpr double kWidth = 960, kLeft = 64, kTop = 104, kPanelWidth = 620, kPanelHeight = 380;
constexpr double kLabelGap = 18;
constexpr int kNameColumnsMax = 30;

// Six colours that are told apart without colour vision (Okabe and Ito 2008, darkened for white paper); the second six
// variants have them again, dashed.
constexpr size_t kColours = 6;
constexpr std::string_view kStyle =
    R"(.curve { fill: none; stroke-width: 2.25; stroke-linejoin: round; stroke-linecap: round; }
.dashed { stroke-dasharray: 5 4; }
.band { fill-opacity: 0.13; }
.leader { stroke: #b6bdc9; }
.c0 { stroke: #2459c9; } .f0 { fill: #2459c9; }
.c1 { stroke: #b45309; } .f1 { fill: #b45309; }
.c2 { stroke: #00785a; } .f2 { fill: #00785a; }
.c3 { stroke: #a8437c; } .f3 { fill: #a8437c; }
.c4 { stroke: #0b7fab; } .f4 { fill: #0b7fab; }
.c5 { stroke: #5b6472; } .f5 { fill: #5b6472; }
)";

constexpr double kR2Least = -1;

struct Range {
  double low = 0, high = 1;
};

std::string score_text(double score, RunMetric metric) {
  return metric == RunMetric::r2 ? format_fixed(score, 3) : format_percent(score);
}

// The scores that are shown, and a little more: a curve between 96 % and 98 % is to be seen as one. R2 has no least;
// what is far below 0 is as bad as what is a little.
Range score_range(const std::vector<const ComparedVariant*>& drawn) {
  const bool is_r2 = drawn.front()->metric == RunMetric::r2;
  double low = 1, high = is_r2 ? kR2Least : 0;
  for (const ComparedVariant* one : drawn) {
    for (const BandPoint& point : one->curve) {
      const double half = point.score.half_width.value_or(0);
      low = std::min(low, point.score.mean - half);
      high = std::max(high, point.score.mean + half);
    }
  }
  if (low > high) return {};
  if (is_r2) low = std::clamp(low, kR2Least, 0.99);
  const double room = std::max(0.01, 0.05 * (high - low));
  return {std::max(is_r2 ? kR2Least : 0.0, low - room), std::min(1.0, high + room)};
}

Range round_range(const std::vector<const ComparedVariant*>& drawn) {
  double low = INFINITY, high = -INFINITY;
  for (const ComparedVariant* one : drawn) {
    if (one->curve.empty()) continue;
    low = std::min(low, static_cast<double>(one->curve.front().round));
    high = std::max(high, static_cast<double>(one->curve.back().round));
  }
  if (low > high) return {0, 1};
  return {std::min(low, high - 1), high};
}

void draw_axes(Svg& svg, const Scale& x, const Scale& y, RunMetric metric) {
  const double factor = metric == RunMetric::r2 ? 1 : 100;
  const std::vector<double> ticks = round_ticks(factor * y.low, factor * y.high, 6);
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : 1;
  for (const double tick : ticks) {
    const double at = y.at(tick / factor);
    svg.line("rule", {kLeft, at}, {kLeft + kPanelWidth, at});
    svg.text("soft", {kLeft - 8, at + 4}, tick_text(tick, step) + (metric == RunMetric::r2 ? "" : " %"), Anchor::end);
  }
  const double bottom = kTop + kPanelHeight;
  svg.line("axis", {kLeft, bottom}, {kLeft + kPanelWidth, bottom});
  for (const double tick : round_ticks(x.low, x.high, 10)) {
    if (tick != std::floor(tick)) continue;
    svg.line("axis", {x.at(tick), bottom}, {x.at(tick), bottom + 4});
    svg.text("soft", {x.at(tick), bottom + 19}, tick_text(tick, 1), Anchor::middle);
  }
  svg.text("soft", {kLeft + kPanelWidth / 2, bottom + 38}, "round", Anchor::middle);
}

std::string colour(std::string_view what, size_t i) { return std::string(what) + std::to_string(i % kColours); }

void draw_variant(Svg& svg, const ComparedVariant& one, size_t i, const Scale& x, const Scale& y) {
  std::vector<Svg::Point> mean, band;
  const auto point = [&](const BandPoint& at, double side) {
    return Svg::Point(x.at(static_cast<double>(at.round)),
                      y.at(std::clamp(at.score.mean + side * at.score.half_width.value_or(0), y.low, y.high)));
  };
  for (const BandPoint& at : one.curve) {
    mean.push_back(point(at, 0));
    band.push_back(point(at, 1));
  }
  if (one.score.half_width && !one.curve.empty()) {
    for (size_t k = one.curve.size(); k-- > 0;) band.push_back(point(one.curve[k], -1));
    svg.polygon("band " + colour("f", i), band);
  }
  svg.path("curve " + colour("c", i) + (i >= kColours ? " dashed" : ""), mean);
}

// A name at each line's end, apart from each other, with its number.
void draw_names(Svg& svg, const std::vector<const ComparedVariant*>& drawn, const Scale& x, const Scale& y) {
  std::vector<double> ends;
  for (const ComparedVariant* one : drawn) {
    ends.push_back(one->curve.empty() ? kTop + kPanelHeight
                                      : y.at(std::clamp(one->curve.back().score.mean, y.low, y.high)));
  }
  const std::vector<double> places = spread(ends, kLabelGap, kTop, kTop + kPanelHeight);
  for (size_t i = 0; i < drawn.size(); ++i) {
    const ComparedVariant& one = *drawn[i];
    const double text_left = kLeft + kPanelWidth + 22;
    if (!one.curve.empty()) {
      const double from = x.at(static_cast<double>(one.curve.back().round));
      svg.line("leader", {from + 2, ends[i]}, {text_left - 4, places[i]});
    }
    const std::string name = shortened(one.name, kNameColumnsMax);
    const std::string value = one.curve.empty() ? "no " + std::string(shown(one.metric))
                                                : score_text(one.curve.back().score.mean, one.metric);
    svg.text(colour("f", i), {text_left, places[i] + 4}, value + "  " + name);
  }
}

// All, or the best in their order.
std::vector<const ComparedVariant*> drawn_of(const std::vector<ComparedVariant>& compared) {
  std::vector<const ComparedVariant*> drawn;
  for (const ComparedVariant& one : compared) drawn.push_back(&one);
  if (drawn.size() <= kVariantsDrawnMax) return drawn;
  std::ranges::stable_sort(drawn, std::greater(), [](const ComparedVariant* one) { return one->score.mean; });
  drawn.resize(kVariantsDrawnMax);
  std::ranges::sort(drawn);
  return drawn;
}

std::string subtitle_of(const std::vector<ComparedVariant>& compared, size_t drawn) {
  const auto [least, most] =
      std::ranges::minmax_element(compared, {}, [](const ComparedVariant& one) { return one.score.count; });
  std::string text =
      std::string(shown(least->metric)) + " on held-out examples; mean of " + std::to_string(least->score.count);
  if (most->score.count > least->score.count) text += " to " + std::to_string(most->score.count);
  text += most->score.count == 1 ? " run" : " runs, with its 95 % interval";
  if (drawn < compared.size()) {
    text += "; the best " + std::to_string(drawn) + " of " + std::to_string(compared.size()) + " variants";
  }
  return text;
}

}  // namespace

namespace {

// Where everything is.
struct Layout {
  explicit Layout(const std::vector<ComparedVariant>& compared) : drawn(drawn_of(compared)) {
    const Range rounds = round_range(drawn), scores = score_range(drawn);
    x = {rounds.low, rounds.high, kLeft, kLeft + kPanelWidth};
    y = {scores.low, scores.high, kTop + kPanelHeight, kTop};
  }
  std::vector<const ComparedVariant*> drawn;
  Scale x, y;
};

// A row for each round of which a variant has a score.
std::vector<PageRow> rows_of(const Layout& layout) {
  std::map<uint64_t, PageRow> rows;
  for (size_t i = 0; i < layout.drawn.size(); ++i) {
    for (const BandPoint& at : layout.drawn[i]->curve) {
      PageRow& row = rows[at.round];
      if (row.cells.empty()) {
        const double x = layout.x.at(static_cast<double>(at.round));
        row = {at.round,
               std::vector<PageCell>(layout.drawn.size(), PageCell{.value = {}, .x = x, .y = {}, .half_width = {}})};
      }
      row.cells[i].value = at.score.mean;
      row.cells[i].y = layout.y.at(std::clamp(at.score.mean, layout.y.low, layout.y.high));
      row.cells[i].half_width = at.score.half_width;
    }
  }
  std::vector<PageRow> all;
  for (auto& [round, row] : rows) all.push_back(std::move(row));
  return all;
}

}  // namespace

std::string draw_comparison(const std::vector<ComparedVariant>& compared, const std::string& title) {
  const Layout layout(compared);
  const std::string subtitle = subtitle_of(compared, layout.drawn.size());
  Svg svg;
  const double height = kTop + kPanelHeight + 62;
  svg.rectangle("paper", {0, 0}, kWidth, height);
  svg.text("title", {kLeft, 44}, title);
  svg.text("soft", {kLeft, 68}, subtitle);
  draw_axes(svg, layout.x, layout.y, compared.front().metric);
  for (size_t i = 0; i < layout.drawn.size(); ++i) draw_variant(svg, *layout.drawn[i], i, layout.x, layout.y);
  draw_names(svg, layout.drawn, layout.x, layout.y);
  return svg.document(kWidth, height, chart_style(kStyle), title, subtitle);
}

std::string draw_comparison_page(const std::vector<ComparedVariant>& compared, const std::string& title) {
  const Layout layout(compared);
  ChartPage page{.title = title, .svg = draw_comparison(compared, title), .top = kTop, .bottom = kTop + kPanelHeight};
  for (size_t i = 0; i < layout.drawn.size(); ++i)
    page.columns.push_back({layout.drawn[i]->name, colour("f", i), layout.drawn[i]->metric == RunMetric::accuracy});
  page.rows = rows_of(layout);
  return html_page(page);
}

}  // namespace coterie
