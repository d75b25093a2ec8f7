#include "tools/cli/watch_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/watch/watch.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr int kLineColumns = 80;
constexpr int kTensorColumnsMin = 16;
constexpr size_t kStepsColumns = 13;
constexpr std::string_view kGradientOf = "gradient of ";

std::string threshold_text(const WatchHit& hit) {
  return std::string(hit.comparison) + " " + format_digits(hit.threshold);
}

// A check of gradients says that it is one by its name.
std::string_view what_of(const WatchHit& hit) {
  std::string_view tensor = hit.tensor;
  if (hit.check.starts_with("gradient") && tensor.starts_with(kGradientOf)) tensor.remove_prefix(kGradientOf.size());
  return tensor;
}

std::string steps_of(const WatchHit& hit) {
  const std::string first = std::to_string(hit.first_step);
  if (hit.first_step == hit.last_step) return first;
  const std::string all = first + "-" + std::to_string(hit.last_step);
  return all.size() <= kStepsColumns ? all : first + "-..";
}

constexpr std::string_view kTitles[] = {"CHECK", "TENSOR", "STEPS", "VALUE", "THRESHOLD"};
constexpr size_t kTensor = 1;

// What the other columns leave of a line.
int tensor_columns(const std::vector<std::vector<std::string>>& rows) {
  int left = kLineColumns;
  for (size_t column = 0; column < std::size(kTitles); ++column) {
    if (column == kTensor) continue;
    size_t widest = kTitles[column].size();
    for (const auto& row : rows) widest = std::max(widest, row[column].size());
    left -= static_cast<int>(widest) + 2;
  }
  return std::max(left, kTensorColumnsMin);
}

}  // namespace

std::string hits_table(std::span<const WatchHit> hits) {
  std::vector<Table::Column> titles;
  for (const std::string_view title : kTitles) {
    titles.push_back({std::string(title), titles.size() <= kTensor ? Table::Align::left : Table::Align::right});
  }
  Table table(std::move(titles));
  std::vector<std::vector<std::string>> rows;
  for (const WatchHit& hit : hits) {
    rows.push_back({std::string(hit.check), "", steps_of(hit), format_digits(hit.value), threshold_text(hit)});
  }
  const int columns = tensor_columns(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i][kTensor] = shortened_in_middle(what_of(hits[i]), columns);
    table.add(std::move(rows[i]));
  }
  return table.text();
}

std::string watch_text(const WatchHits& watched, uint64_t steps) {
  const std::string looks = counted(steps, "look");
  const std::vector<WatchHit>& hits = watched.hits();
  if (hits.empty()) return "watch: nothing found in " + looks + "\n";
  std::string text = "\nwatch: " + counted(hits.size(), "hit") + " in " + looks + "\n\n" + hits_table(hits);
  if (watched.left_out() > 0) text += "and " + counted(watched.left_out(), "more hit") + "\n";
  return text;
}

std::string watch_text(const Watch& watch) { return watch_text(watch.hits(), watch.looks()); }

nlohmann::json watch_json(const Watch& watch) {
  nlohmann::json hits = nlohmann::json::array();
  for (const WatchHit& hit : watch.hits().hits()) {
    hits.push_back({{"check", hit.check},
                    {"setting", hit.setting},
                    {"layer", hit.layer},
                    {"tensor", hit.tensor},
                    {"first_step", hit.first_step},
                    {"last_step", hit.last_step},
                    {"looks", hit.looks},
                    {"value", hit.value},
                    {"threshold", hit.threshold}});
  }
  return {
      {"every", watch.plan().every}, {"looks", watch.looks()}, {"hits", hits}, {"left_out", watch.hits().left_out()}};
}

Status write_watch_report(const Watch& watch, const std::string& path) {
  const std::string text = watch_json(watch).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return os::write_file_atomically(path, as_bytes(text));
}

}  // namespace coterie
