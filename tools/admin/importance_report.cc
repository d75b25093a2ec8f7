#include "tools/admin/importance_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "tools/cli/table.h"
#include "tools/data/csv_rows.h"
#include "tools/demo/chart_page.h"
#include "tools/demo/svg.h"

namespace coterie {
namespace {

constexpr int kNameColumns = 16;  // with the others a line has at most 80
constexpr size_t kBarColumns = 10;
constexpr const char* kMissing = "-";

struct Estimate {
  double value = NAN, low = NAN, high = NAN;
  bool has_interval() const { return std::isfinite(low) && std::isfinite(high); }
};

struct Row {
  std::string name;
  Estimate loss, errors;
};

double number_in(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : NAN;
}

Estimate estimate_in(const nlohmann::json& column, const char* key) {
  const auto found = column.find(key);
  if (found == column.end() || !found->is_object()) return {};
  return {number_in(*found, "value"), number_in(*found, "low"), number_in(*found, "high")};
}

const nlohmann::json* columns_in(const nlohmann::json& model) {
  const auto importance = model.find("importance");
  if (importance == model.end() || !importance->is_object()) return nullptr;
  const auto columns = importance->find("columns");
  return columns != importance->end() && columns->is_array() ? &*columns : nullptr;
}

// Those without a value last.
std::vector<Row> rows_of(const nlohmann::json& model) {
  std::vector<Row> rows;
  for (const nlohmann::json& column : *columns_in(model)) {
    if (!column.is_object()) continue;
    const auto name = column.find("name");
    rows.push_back({name != column.end() && name->is_string() ? name->get<std::string>() : "",
                    estimate_in(column, "loss_rise"), estimate_in(column, "error_rise")});
  }
  std::ranges::stable_sort(rows, std::greater<>(),
                           [](const Row& row) { return std::isfinite(row.loss.value) ? row.loss.value : -INFINITY; });
  return rows;
}

// "0.123 (0.100 to 0.140)"
std::string words(const Estimate& estimate, double scale, int digits) {
  if (!std::isfinite(estimate.value)) return kMissing;
  const auto fixed = [&](double value) {
    return format_fixed(value * scale, std::abs(value * scale) < 10 ? digits : std::min(digits, 2));
  };
  const std::string value = fixed(estimate.value);
  return estimate.has_interval() ? value + " (" + fixed(estimate.low) + " to " + fixed(estimate.high) + ")" : value;
}

double largest(const std::vector<Row>& rows) {
  double most = 0;
  for (const Row& row : rows) most = std::max(most, std::isfinite(row.loss.value) ? row.loss.value : 0);
  return most > 0 ? most : 1;
}

double share_of(double value, double most) { return std::isfinite(value) ? std::clamp(value / most, 0.0, 1.0) : 0; }

}  // namespace

bool has_importance(const nlohmann::json& model) { return model.is_object() && columns_in(model) != nullptr; }

std::string importance_text(const nlohmann::json& model) {
  if (!has_importance(model)) return {};
  const std::vector<Row> rows = rows_of(model);
  Table table({{"PERMUTED"}, {"LOSS RISES BY"}, {"POINTS MORE WRONG"}, {""}});
  const double most = largest(rows);
  for (const Row& row : rows) {
    table.add({shortened(row.name, kNameColumns), words(row.loss, 1, 3), words(row.errors, 100, 1),
               std::string(static_cast<size_t>(share_of(row.loss.value, most) * kBarColumns + 0.5), '#')});
  }
  return "\n" + table.text();
}

std::string importance_csv(const nlohmann::json& model) {
  std::string csv = "column,loss_rise,loss_rise_low,loss_rise_high,error_rise,error_rise_low,error_rise_high\n";
  if (!has_importance(model)) return csv;
  for (const Row& row : rows_of(model)) {
    csv += csv_quoted(row.name);
    for (const double value :
         {row.loss.value, row.loss.low, row.loss.high, row.errors.value, row.errors.low, row.errors.high}) {
      csv += "," + shortest(std::isfinite(value) ? std::optional(value) : std::nullopt);
    }
    csv += "\n";
  }
  return csv;
}

std::string draw_importance(const nlohmann::json& model) {
  constexpr double kLabels = 180, kBars = 420, kWidth = 720, kRow = 22, kTop = 70;
  const std::string title = "how much the loss rises where a column is permuted",
                    subtitle = "mean over examples, with intervals that hold in 95 of 100 cases";
  const std::vector<Row> rows = has_importance(model) ? rows_of(model) : std::vector<Row>();
  double low = 0, high = largest(rows);
  for (const Row& row : rows) {
    for (const double value : {row.loss.value, row.loss.low, row.loss.high}) {
      if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
    }
  }
  const auto x_of = [&](double value) { return kLabels + (value - low) / (high - low) * kBars; };
  Svg svg;
  const double height = kTop + kRow * static_cast<double>(rows.size()) + 30;
  svg.rectangle("paper", {0, 0}, kWidth, height);
  svg.text("title", {20, 30}, title);
  svg.text("soft", {20, 50}, subtitle);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Estimate& loss = rows[i].loss;
    const double top = kTop + kRow * static_cast<double>(i), middle = top + kRow / 2;
    svg.text("label", {kLabels - 8, middle + 4}, shortened(rows[i].name, kNameColumns), Anchor::end);
    if (!std::isfinite(loss.value)) continue;
    const double from = std::min(x_of(0), x_of(loss.value)), to = std::max(x_of(0), x_of(loss.value));
    svg.rectangle("bar", {from, top + 3}, to - from, kRow - 6, 0, 1, rows[i].name + ": " + format_digits(loss.value));
    if (loss.has_interval()) svg.line("error", {x_of(loss.low), middle}, {x_of(loss.high), middle});
    svg.text("soft", {kLabels + kBars + 10, middle + 4}, format_fixed(loss.value, 3));
  }
  return svg.document(kWidth, height,
                      chart_style(".bar { fill: #3b6ea5; } .error { stroke: #c0562f; stroke-width: 2; }"), title,
                      subtitle);
}

}  // namespace coterie
