#include "fl_server/json/selection_json.h"

#include <nlohmann/json.hpp>

#include "fl_server/json/readable_float.h"
#include "scheduler/selection/selection_registry.h"

namespace coterie {

void read_selection(JsonReader reader, SelectionSettings& selection) {
  const std::vector<std::string_view> names = selection_names();
  size_t kind = 0;
  reader.read_choice("kind", names, kind);
  selection = SelectionSettings::of(names[kind]);
  for (size_t i = 0; i < selection.values.size(); ++i) {
    reader.read(selection.rule->settings[i].name, selection.values[i]);
  }
  reader.finish();
}

void add_selection(nlohmann::json& json, const SelectionSettings& selection) {
  if (selection.is_uniform()) return;
  nlohmann::json& entry = json["selection"] = {{"kind", selection.rule->name}};
  for (size_t i = 0; i < selection.values.size(); ++i) {
    entry[selection.rule->settings[i].name] = readable(selection.values[i]);
  }
}

}  // namespace coterie
