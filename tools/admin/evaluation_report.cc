#include "tools/admin/evaluation_report.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/admin/importance_report.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr std::string_view kSchema = "coterie.evaluation_result.v1";
constexpr int kNameColumns = 10, kTitleColumns = 60;  // with them a line has at most 80 columns
constexpr int kDigestDigits = 14;                     // with the dots: they name a model among a few
constexpr size_t kConfusedClassesMax = 5;             // a wider table has more than 80 columns
constexpr size_t kBarColumns = 20;

double number_in(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : NAN;
}

nlohmann::json list_in(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_array() ? *found : nlohmann::json::array();
}

std::string text_in(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// "8 updates"; without a count that is one, "updates".
std::string counted_in(const nlohmann::json& json, const char* key, const std::string& noun) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer() || *found < 0) return noun + "s";
  return counted(found->get<uint64_t>(), noun);
}

std::string percent(double ratio) { return std::isfinite(ratio) ? format_percent(ratio) : "-"; }
std::string points(double ratio) { return format_fixed(100 * ratio, 2); }

// "78.1 % (62.0 to 94.2)"
std::string accuracy_words(const nlohmann::json& group) {
  const auto found = group.find("accuracy");
  if (found == group.end() || !found->is_object()) return "-";
  const double low = number_in(*found, "low"), high = number_in(*found, "high");
  const std::string value = percent(number_in(*found, "value"));
  if (!std::isfinite(low) || !std::isfinite(high)) return value;
  return value + " (" + format_fixed(100 * low, 1) + " to " + format_fixed(100 * high, 1) + ")";
}

std::string loss_words(const nlohmann::json& group) {
  const auto found = group.find("loss");
  if (found == group.end() || !found->is_object()) return "-";
  const double low = number_in(*found, "low"), high = number_in(*found, "high");
  const auto words = [](double loss) { return format_fixed(loss, loss < 10 ? 3 : 2); };
  const std::string value = words(number_in(*found, "value"));
  if (!std::isfinite(low) || !std::isfinite(high)) return value;
  return value + " (" + words(low) + " to " + words(high) + ")";
}

void add_row(Table& table, const std::string& name, const nlohmann::json& group) {
  table.add({shortened(name, kNameColumns), format_digits(number_in(group, "devices")),
             format_digits(number_in(group, "examples")), accuracy_words(group), loss_words(group)});
}

std::string groups_text(const nlohmann::json& model, const std::string& column) {
  using enum Table::Align;
  Table table({{column.empty() ? "GROUP" : shortened(column, kNameColumns)},
               {"DEVICES", right},
               {"EXAMPLES", right},
               {"ACCURACY"},
               {"LOSS"}});
  add_row(table, "all", model);
  for (const nlohmann::json& group : list_in(model, "groups")) add_row(table, text_in(group, "name"), group);
  return table.text();
}

std::string confusion_text(const nlohmann::json& model, const nlohmann::json& classes) {
  if (classes.size() > kConfusedClassesMax) return {};
  std::vector<Table::Column> columns = {{"CLASS"}};
  for (size_t i = 0; i < classes.size(); ++i) columns.push_back({"AS " + std::to_string(i), Table::Align::right});
  columns.push_back({"NONE", Table::Align::right});
  Table table(columns);
  const nlohmann::json rows = list_in(model, "confusion");
  for (size_t i = 0; i < std::min(rows.size(), classes.size()); ++i) {
    std::vector<std::string> cells = {std::to_string(i) + " " +
                                      shortened(classes[i].is_string() ? classes[i].get<std::string>() : "", 12)};
    for (const nlohmann::json& cell : rows[i]) cells.push_back(cell.is_number() ? format_digits(cell) : "-");
    if (cells.size() == columns.size()) table.add(std::move(cells));
  }
  return "\n" + table.text();
}

std::string areas_text(const nlohmann::json& model) {
  std::string text;
  for (const nlohmann::json& area : list_in(model, "auc")) {
    text += "area under the curve of " + shortened(text_in(area, "class"), kNameColumns) + ": " +
            format_fixed(number_in(area, "low"), 4) + " to " + format_fixed(number_in(area, "high"), 4) + "\n";
  }
  return text;
}

// Devices by their own accuracy: only bins that have any.
std::string devices_text(const nlohmann::json& model) {
  const nlohmann::json bins = list_in(model, "devices_by_accuracy");
  double most = 0;
  for (const nlohmann::json& bin : bins) most = std::max(most, bin.is_number() ? bin.get<double>() : 0);
  if (!(most > 0)) return {};
  Table table({{"DEVICES WITH"}, {"ARE", Table::Align::right}, {""}});
  const auto count = static_cast<double>(bins.size());
  for (size_t i = 0; i < bins.size(); ++i) {
    const double devices = bins[i].is_number() ? bins[i].get<double>() : 0;
    if (!(devices > 0)) continue;
    const auto from = static_cast<double>(i);
    table.add({format_fixed(100 * from / count, 0) + " to " + format_fixed(100 * (from + 1) / count, 0) + " % right",
               format_digits(devices), std::string(static_cast<size_t>(devices / most * kBarColumns + 0.5), '#')});
  }
  std::string text = "\n" + table.text();
  const auto worst = model.find("worst_tenth");
  if (worst == model.end() || !worst->is_object()) return text;
  return text + "a tenth of the devices has at most so many right: " + percent(number_in(*worst, "from")) + " to " +
         percent(number_in(*worst, "to")) + "\n";
}

std::string comparison_text(const nlohmann::json& compared) {
  const std::string verdict = text_in(compared, "verdict");
  const std::string words = verdict == "worse"    ? "the new model is worse"
                            : verdict == "better" ? "the new model is better"
                                                  : "the new model is not shown to be worse, nor better";
  return words + ", by " + format_digits(number_in(compared, "devices")) + " devices\nloses " +
         points(number_in(compared, "harm")) + " points of accuracy a device; " + points(number_in(compared, "low")) +
         " to " + points(number_in(compared, "high")) + ", however often one looks\n";
}

std::string model_text(const nlohmann::json& answer, const nlohmann::json& model, const std::string& title) {
  return "\n" + title + " " + shortened(text_in(model, "model"), kDigestDigits) + "\n" +
         groups_text(model, text_in(answer, "column")) + areas_text(model) +
         confusion_text(model, list_in(answer, "classes")) + importance_text(model) + devices_text(model);
}

}  // namespace

bool is_evaluation(const nlohmann::json& answer) { return answer.is_object() && text_in(answer, "schema") == kSchema; }

Result<std::string> evaluation_text(const nlohmann::json& answer) {
  if (!is_evaluation(answer)) {
    return Error(ErrorCode::malformed, "the server's answer is no " + std::string(kSchema));
  }
  const std::string column = text_in(answer, "column");
  std::string text = "evaluation" + (column.empty() ? "" : " by " + shortened(column, kTitleColumns)) + "\n" +
                     counted_in(answer, "updates", "update") + " in " + counted_in(answer, "rounds", "round") +
                     "; intervals hold in 95 of 100 cases, devices are the draws\n";
  const nlohmann::json models = list_in(answer, "models");
  for (size_t i = 0; i < models.size(); ++i) {
    text += model_text(answer, models[i], models.size() < 2 ? "model" : i == 0 ? "before" : "new");
  }
  const auto compared = answer.find("comparison");
  if (compared != answer.end() && compared->is_object()) text += "\n" + comparison_text(*compared);
  return text;
}

Result<std::string> draw_evaluation(const nlohmann::json& answer) {
  const nlohmann::json models = list_in(answer, "models");
  if (models.size() == 1 && has_importance(models[0])) return draw_importance(models[0]);
  return Error(ErrorCode::invalid_argument,
               "--svg draws counts, or what columns are worth; this job has evaluated models without `importance`");
}

}  // namespace coterie
