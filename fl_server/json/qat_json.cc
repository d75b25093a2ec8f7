#include "fl_server/json/qat_json.h"
#include "proto/messages/quantised_training_text.h"

#include <nlohmann/json.hpp>

namespace coterie {

void read_qat(JsonReader& reader, TrainingSettings& settings) {
  if (!reader.has("qat")) return;
  JsonReader own = reader.object("qat");
  QuantisedTraining qat;
  own.read_kind("parts", quantised_parts_names(), qat.parts);
  own.read("weight_bits", qat.weight_bits);
  own.finish();
  settings.qat = qat;
}

void add_qat(nlohmann::json& training, const TrainingSettings& settings) {
  if (!settings.qat) return;
  training["qat"] = {{"parts", to_string(settings.qat->parts)}, {"weight_bits", settings.qat->weight_bits}};
}

}  // namespace coterie
