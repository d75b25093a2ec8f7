#include "tools/cli/watch_report.h"

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tools/cli/table.h"
#include "tools/watch/watch.h"

namespace coterie {
namespace {

// A line of the table has at most 80.
constexpr int kTensorColumns = 16;
constexpr size_t kStepsColumns = 13;
constexpr std::string_view kGradientOf = "gradient of ";

// "mean_magnitude_above" tells what was compared by its name; the threshold by how it ends.
std::string threshold_text(const WatchHit& hit) {
  if (hit.setting.ends_with("_above")) return "> " + format_digits(hit.threshold);
  if (hit.setting.ends_with("_below")) return "< " + format_digits(hit.threshold);
  if (hit.setting.ends_with("_from")) return ">= " + format_digits(hit.threshold);
  if (hit.setting.ends_with("_tolerance")) return "<= " + format_digits(hit.threshold);
  return "> 0";
}

// A check of gradients says that it is one by its name.
std::string what_of(const WatchHit& hit) {
  std::string_view tensor = hit.tensor;
  if (hit.check.starts_with("gradient") && tensor.starts_with(kGradientOf)) tensor.remove_prefix(kGradientOf.size());
  return shortened(tensor, kTensorColumns);
}

std::string steps_of(const WatchHit& hit) {
  const std::string first = std::to_string(hit.first_step);
  if (hit.first_step == hit.last_step) return first;
  const std::string all = first + "-" + std::to_string(hit.last_step);
  return all.size() <= kStepsColumns ? all : first + "-..";
}

}  // namespace

std::string watch_text(const Watch& watch) {
  const std::string looks = counted(watch.looks(), "look");
  const std::vector<WatchHit>& hits = watch.hits().hits();
  if (hits.empty()) return "watch: nothing found in " + looks + "\n";
  Table table({{"CHECK"},
               {"TENSOR"},
               {"STEPS", Table::Align::right},
               {"VALUE", Table::Align::right},
               {"THRESHOLD", Table::Align::right}});
  for (const WatchHit& hit : hits) {
    table.add({std::string(hit.check), what_of(hit), steps_of(hit), format_digits(hit.value), threshold_text(hit)});
  }
  std::string text = "\nwatch: " + counted(hits.size(), "hit") + " in " + looks + "\n\n" + table.text();
  if (watch.hits().left_out() > 0) text += "and " + counted(watch.hits().left_out(), "more hit") + "\n";
  return text;
}

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
