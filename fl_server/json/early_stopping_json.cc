#include "fl_server/json/early_stopping_json.h"

#include <nlohmann/json.hpp>

#include "fl_server/json/readable_float.h"

namespace coterie {

void read_early_stopping(JsonReader& reader, TrainingSettings& settings) {
  if (!reader.has("early_stopping")) return;
  JsonReader own = reader.object("early_stopping");
  EarlyStopping stopping;
  own.read("validation_share", stopping.validation_share);
  own.read("patience", stopping.patience);
  own.finish();
  settings.early_stopping = stopping;
}

void add_early_stopping(nlohmann::json& training, const TrainingSettings& settings) {
  if (!settings.early_stopping) return;
  training["early_stopping"] = {{"validation_share", readable(settings.early_stopping->validation_share)},
                                {"patience", settings.early_stopping->patience}};
}

}  // namespace coterie
