#include "fl_server/json/compression_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scheduler/job/compression_rules.h"

namespace coterie {

void read_compression(JsonReader& update, UpdateSettings& settings) {
  if (!update.has("compression")) return;
  JsonReader compression = update.object("compression");
  CompressionSettings& into = settings.compression;
  size_t kind = 0;
  compression.read_choice("kind", compression_names(), kind);
  into.kind = static_cast<CompressionKind>(kind);
  if (default_bits(into.kind) == 0) compression.require("bits");
  uint32_t bits = std::max(1u, default_bits(into.kind));
  compression.read("bits", bits);
  if (bits == 0) compression.problem("bits", "must be above 0, is 0; leave compression out for none");
  into.bits = bits;
  compression.read("rotate", into.rotate);
  compression.read("share", into.share);
  compression.read("error_feedback", into.error_feedback);
  compression.finish();
  if (into.kind == CompressionKind::quantized) settings.weight_max = kCompressedWeightMaxDefault;
}

void add_compression(nlohmann::json& update, const CompressionSettings& compression) {
  if (compression == CompressionSettings{}) return;
  nlohmann::json& json = update["compression"] = {{"bits", compression.bits}};
  switch (compression.kind) {
    case CompressionKind::quantized: json["rotate"] = compression.rotate; return;
    case CompressionKind::eden: break;
    case CompressionKind::top_k: json["share"] = compression.share; json["error_feedback"] = compression.error_feedback;
  }
  json["kind"] = to_string(compression.kind);
}

}  // namespace coterie
