#include "fl_server/json/download_json.h"

#include <nlohmann/json.hpp>

namespace coterie {

void read_download(JsonReader& reader, DownloadSettings& settings) {
  if (!reader.has("download")) return;
  JsonReader download = reader.object("download");
  download.require("bits");
  uint32_t bits = 1;
  download.read("bits", bits);
  if (bits == 0) download.problem("bits", "must be in [2, 8], is 0; leave download out for whole models");
  settings.bits = bits;
  download.read("keyframe_every", settings.keyframe_every);
  download.finish();
}

void add_download(nlohmann::json& job, const DownloadSettings& settings) {
  if (!settings.is_on()) return;
  job["download"] = {{"bits", settings.bits}, {"keyframe_every", settings.keyframe_every}};
}

}  // namespace coterie
