#include "fl_server/json/widths_json.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "proto/messages/width_share.h"

namespace coterie {

void read_widths(JsonReader& reader, TrainingSettings& settings) {
  if (!reader.has("widths")) return;
  JsonReader own = reader.object("widths");
  std::vector<double> shares;
  own.require("classes");
  own.read("classes", shares);
  own.finish();
  settings.widths.clear();
  for (const double share : shares) {
    const std::optional<uint32_t> width = width_of(share);
    if (!width) own.problem("classes", "must be numbers in (0, 1], to six digits");
    settings.widths.push_back(width.value_or(kWholeWidth));
  }
  if (shares.empty()) own.problem("classes", "must not be empty: without widths there is no such key");
}

void add_widths(nlohmann::json& training, const TrainingSettings& settings) {
  for (const uint32_t width : settings.widths) training["widths"]["classes"].push_back(share_of(width));
}

}  // namespace coterie
