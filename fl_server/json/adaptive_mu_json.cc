#include "fl_server/json/adaptive_mu_json.h"

#include <nlohmann/json.hpp>

#include "fl_server/json/readable_float.h"

namespace coterie {

void read_adaptive_mu(JsonReader& reader, std::optional<AdaptiveMuSettings>& settings) {
  if (!reader.has("adaptive_mu")) return;
  JsonReader keys = reader.object("adaptive_mu");
  AdaptiveMuSettings own;
  keys.read("step", own.step);
  keys.read("falls", own.falls);
  keys.read("max", own.max);
  keys.finish();
  settings = own;
}

void add_adaptive_mu(nlohmann::json& training, const std::optional<AdaptiveMuSettings>& settings) {
  if (!settings) return;
  training["adaptive_mu"] = {
      {"step", readable(settings->step)}, {"falls", settings->falls}, {"max", readable(settings->max)}};
}

}  // namespace coterie
