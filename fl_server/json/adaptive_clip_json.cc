#include "fl_server/json/adaptive_clip_json.h"

#include <nlohmann/json.hpp>

namespace coterie {

void read_adaptive_clip(JsonReader& reader, PrivacySettings& settings) {
  if (!reader.has("adaptive_clip")) return;
  JsonReader clip = reader.object("adaptive_clip");
  AdaptiveClipSettings own;
  clip.read("quantile", own.quantile);
  clip.read("learning_rate", own.learning_rate);
  clip.read("bits_sigma", own.bits_sigma);
  clip.finish();
  settings.adaptive_clip = own;
}

void add_adaptive_clip(nlohmann::json& privacy, const PrivacySettings& settings) {
  if (!settings.adaptive_clip) return;
  privacy["adaptive_clip"] = {{"quantile", settings.adaptive_clip->quantile},
                              {"learning_rate", settings.adaptive_clip->learning_rate}};
  if (settings.adaptive_clip->bits_sigma != 0) {
    privacy["adaptive_clip"]["bits_sigma"] = settings.adaptive_clip->bits_sigma;
  }
}

}  // namespace coterie
