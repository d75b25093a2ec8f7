#include "tools/admin/analytics_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/demo/svg.h"

namespace coterie {
namespace {

constexpr size_t kBarColumns = 20;
constexpr int kLabelColumns = 22, kTitleColumns = 60;  // with them a line has at most 80 columns

std::optional<double> number_in(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::string range_words(const nlohmann::json& json) {
  const std::optional<double> from = number_in(json, "from"), to = number_in(json, "to");
  if (from && to) return format_digits(*from) + " to " + format_digits(*to);
  if (to) return "below " + format_digits(*to);
  return from ? format_digits(*from) + " and above" : "any";
}

std::vector<std::string> distinct_words(const nlohmann::json& distinct) {
  const std::string full = format_count(distinct.value("occupied", uint64_t{0})) + " of " +
                           format_count(distinct.value("buckets", uint64_t{0})) + " buckets are occupied";
  const std::optional<double> estimate = number_in(distinct, "estimate");
  if (!estimate) return {full, "too few to say how many values there are; take more"};
  const std::string about = "about " + format_digits(*estimate) + " values";
  const std::string low = format_digits(number_in(distinct, "low").value_or(0));
  if (const std::optional<double> high = number_in(distinct, "high")) {
    return {about + ", from " + low + " to " + format_digits(*high), full};
  }
  const std::string seen_from = format_digits(std::ceil(number_in(distinct, "seen_from").value_or(0)));
  return {about + " that " + seen_from + " devices or more have",
          "at least " + low + " in all: noise hides how many are rarer", full};
}

// Bytes that are no text are told in hexadecimal. Three dots stand where a string may go on.
std::string string_words(const nlohmann::json& counted, bool is_begin) {
  const std::string hex = counted.value("hex", "");
  const std::string text = hex.empty() ? counted.value("text", "") : "0x" + hex;
  return text + (is_begin || counted.value("may_go_on", false) ? "..." : "");
}

// What the strings that are told leave open.
std::vector<std::string> hitter_notes(const nlohmann::json& answer) {
  constexpr size_t kBeginsMax = 5;
  std::vector<std::string> notes = {"told from a count of " +
                                    format_digits(number_in(answer, "threshold").value_or(0)) + " on"};
  const double left_out = number_in(answer, "left_out").value_or(0);
  if (left_out > 0) {
    notes.push_back("counts up to " + format_digits(left_out) + " may be missing: prefixes_max had no room");
  }
  const nlohmann::json prefixes = answer.value("prefixes", nlohmann::json::array());
  for (size_t i = 0; i < std::min(kBeginsMax, prefixes.size()); ++i) {
    notes.push_back("not yet known how it ends: " + shortened(string_words(prefixes[i], true), kLabelColumns) + " " +
                    format_digits(number_in(prefixes[i], "count").value_or(0)));
  }
  if (prefixes.size() > kBeginsMax) notes.push_back("and " + format_count(prefixes.size() - kBeginsMax) + " more");
  return notes;
}

std::string title_of(const AnalyticsReport& report) {
  return report.kind + (report.column.empty() ? "" : " of " + shortened(report.column, kTitleColumns));
}

std::string subtitle_of(const AnalyticsReport& report) {
  return (report.updates ? counted(*report.updates, "update") : "updates") + " in " + counted(report.rounds, "round") +
         (report.noise_deviation > 0 ? "; noise of " + format_digits(report.noise_deviation) + " in each count" : "");
}

double largest(const AnalyticsReport& report) {
  double most = 1;
  for (const AnalyticsReport::Bin& bin : report.bins) most = std::max({most, bin.count, bin.high});
  return most;
}

}  // namespace

Result<AnalyticsReport> parse_analytics(const nlohmann::json& answer) {
  if (!answer.is_object() || answer.value("schema", "") != "coterie.analytics_result.v1") {
    return Error(ErrorCode::malformed, "the server's answer is no coterie.analytics_result.v1");
  }
  AnalyticsReport report{.job = answer.value("job", ""),
                         .state = answer.value("state", ""),
                         .kind = answer.value("kind", ""),
                         .column = answer.value("column", ""),
                         .rounds = answer.value("rounds", uint64_t{0}),
                         .updates = {},
                         .noise_deviation = number_in(answer, "noise_deviation").value_or(0)};
  const auto updates = answer.find("updates");
  if (updates != answer.end() && updates->is_number_unsigned()) report.updates = updates->get<uint64_t>();
  if (answer.contains("distinct")) report.distinct = distinct_words(answer["distinct"]);
  for (const nlohmann::json& bin : answer.value("bins", nlohmann::json::array())) {
    const std::string name = bin.value("name", "");
    report.bins.push_back({.label = !bin.contains("name") ? range_words(bin)
                                    : name.empty()        ? "(empty)"
                                                          : name,
                           .count = number_in(bin, "count").value_or(0),
                           .low = number_in(bin, "low").value_or(0),
                           .high = number_in(bin, "high").value_or(0)});
  }
  for (const nlohmann::json& counted : answer.value("strings", nlohmann::json::array())) {
    report.bins.push_back({.label = string_words(counted, false),
                           .count = number_in(counted, "count").value_or(0),
                           .low = number_in(counted, "low").value_or(0),
                           .high = number_in(counted, "high").value_or(0)});
  }
  if (answer.contains("strings")) report.notes = hitter_notes(answer);
  for (const nlohmann::json& range : answer.value("quantiles", nlohmann::json::array())) {
    report.quantiles.push_back(format_digits(number_in(range, "quantile").value_or(0)) +
                               " lies in: " + range_words(range));
  }
  return report;
}

std::string analytics_text(const AnalyticsReport& report) {
  std::string text = printable(title_of(report)) + "\n" + subtitle_of(report) + "\n\n";
  for (const std::string& line : report.distinct) text += line + "\n";
  if (!report.distinct.empty()) return text;
  const bool has_noise = report.noise_deviation > 0;
  std::vector<Table::Column> columns = {{report.column.empty() ? "BIN" : "VALUE"}, {"COUNT", Table::Align::right}};
  if (has_noise) columns.push_back({"95 OF 100 TIMES"});
  columns.push_back({""});
  Table table(columns);
  const double most = largest(report);
  for (const AnalyticsReport::Bin& bin : report.bins) {
    std::vector<std::string> cells = {shortened(bin.label, kLabelColumns), format_digits(bin.count)};
    if (has_noise) cells.push_back(format_digits(bin.low) + " to " + format_digits(bin.high));
    const double share = std::clamp(bin.count / most, 0.0, 1.0);
    cells.push_back(std::string(static_cast<size_t>(share * kBarColumns + 0.5), '#'));
    table.add(cells);
  }
  text += table.text();
  for (const std::string& quantile : report.quantiles) text += "quantile " + quantile + "\n";
  for (const std::string& note : report.notes) text += printable(note) + "\n";
  return text;
}

std::string draw_analytics(const AnalyticsReport& report) {
  constexpr double kLabels = 180, kBars = 420, kWidth = 720, kRow = 22, kTop = 70;
  Svg svg;
  const double lines = static_cast<double>(std::max(report.bins.size(), report.distinct.size()));
  const double height = kTop + kRow * lines + 30;
  svg.rectangle("paper", {0, 0}, kWidth, height);
  svg.text("title", {20, 30}, title_of(report));
  svg.text("soft", {20, 50}, subtitle_of(report));
  for (size_t i = 0; i < report.distinct.size(); ++i) {
    svg.text("soft", {20, kTop + kRow * static_cast<double>(i) + 4}, report.distinct[i]);
  }
  const double scale = kBars / largest(report);
  for (size_t i = 0; i < report.bins.size(); ++i) {
    const AnalyticsReport::Bin& bin = report.bins[i];
    const double top = kTop + kRow * static_cast<double>(i), middle = top + kRow / 2;
    svg.text("label", {kLabels - 8, middle + 4}, bin.label, Anchor::end);
    svg.rectangle("bar", {kLabels, top + 3}, std::max(0.0, bin.count) * scale, kRow - 6, 0, 1,
                  bin.label + ": " + svg_number(bin.count));
    if (bin.high > bin.low) {
      svg.line("error", {kLabels + bin.low * scale, middle}, {kLabels + bin.high * scale, middle});
    }
    svg.text("soft", {kLabels + kBars + 10, middle + 4}, svg_number(bin.count));
  }
  return svg.document(kWidth, height,
                      chart_style(".bar { fill: #3b6ea5; } .error { stroke: #c0562f; stroke-width: 2; }"),
                      title_of(report), subtitle_of(report));
}

}  // namespace coterie
