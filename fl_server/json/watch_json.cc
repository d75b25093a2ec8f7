#include "fl_server/json/watch_json.h"

#include <nlohmann/json.hpp>

namespace coterie {

void read_watch(JsonReader& reader, TrainingSettings& settings) {
  if (!reader.has("watch")) return;
  JsonReader own = reader.object("watch");
  WatchSettings watch{.checks = {std::string(kRecommendedChecks)}};
  own.read("checks", watch.checks);
  own.read("every", watch.every);
  own.finish();
  settings.watch = std::move(watch);
}

void add_watch(nlohmann::json& training, const TrainingSettings& settings) {
  if (!settings.watch) return;
  training["watch"] = {{"checks", settings.watch->checks}, {"every", settings.watch->every}};
}

nlohmann::json to_json(const WatchOutcome& outcome) {
  nlohmann::json hits = nlohmann::json::array();
  for (const WatchShare& hit : outcome.hits) {
    nlohmann::json& added = hits.emplace_back(nlohmann::json{{"check", hit.check}, {"share", hit.share}});
    if (!hit.layer.empty()) added["layer"] = hit.layer;
  }
  nlohmann::json json = {{"looked", outcome.looked}, {"hits", hits}};
  if (outcome.error > 0) json["error"] = outcome.error;
  return json;
}

}  // namespace coterie
