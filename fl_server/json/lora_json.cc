#include "fl_server/json/lora_json.h"

#include <nlohmann/json.hpp>

#include "fl_server/json/readable_float.h"

namespace coterie {

void read_lora(JsonReader& reader, TrainingSettings& settings) {
  if (!reader.has("lora")) return;
  JsonReader own = reader.object("lora");
  LoraSettings lora;
  uint64_t seed = 0;
  own.read("rank", lora.rank);
  lora.alpha = static_cast<float>(lora.rank);
  own.read("alpha", lora.alpha);
  own.read("pattern", lora.pattern);
  own.read("seed", seed);
  own.finish();
  lora.fixed_a_seed = seed;
  settings.lora = lora;
}

void add_lora(nlohmann::json& training, const TrainingSettings& settings) {
  if (!settings.lora) return;
  const LoraSettings& lora = *settings.lora;
  training["lora"] = {{"rank", lora.rank},
                      {"alpha", readable(lora.alpha)},
                      {"pattern", lora.pattern},
                      {"seed", lora.fixed_a_seed.value_or(0)}};
}

}  // namespace coterie
