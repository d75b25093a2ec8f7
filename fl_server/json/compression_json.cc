#include "fl_server/json/compression_json.h"

#include <nlohmann/json.hpp>

#include "scheduler/job/compression_rules.h"

namespace coterie {

void read_compression(JsonReader& update, UpdateSettings& settings) {
  if (!update.has("compression")) return;
  JsonReader compression = update.object("compression");
  compression.require("bits");
  uint32_t bits = 1;
  compression.read("bits", bits);
  if (bits == 0) compression.problem("bits", "must be in [1, 16], is 0; leave compression out for none");
  settings.compression.bits = bits;
  compression.read("rotate", settings.compression.rotate);
  compression.finish();
  settings.weight_max = kCompressedWeightMaxDefault;
}

void add_compression(nlohmann::json& update, const CompressionSettings& compression) {
  if (compression == CompressionSettings{}) return;
  update["compression"] = {{"bits", compression.bits}, {"rotate", compression.rotate}};
}

}  // namespace coterie
