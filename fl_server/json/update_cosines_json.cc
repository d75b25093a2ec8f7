#include "fl_server/json/update_cosines_json.h"

#include <nlohmann/json.hpp>

#include "fl_server/json/readable_float.h"
#include "proto/messages/cosine_buckets.h"

namespace coterie {

nlohmann::json to_json(const CosineHistogram& cosines) {
  nlohmann::json edges = nlohmann::json::array();
  for (size_t bucket = 0; bucket <= kCosineBuckets; ++bucket) {
    edges.push_back(readable(static_cast<float>(cosine_bucket_begin(bucket))));
  }
  nlohmann::json json = {{"updates", cosines.updates()},
                         {"undirected", cosines.undirected},
                         {"edges", std::move(edges)},
                         {"counts", cosines.counts}};
  if (cosines.directed() == 0) return json;
  for (const CosineShare& of : kCosineShares) {
    json[std::string(of.name)] = readable(static_cast<float>(cosine_quantile(cosines, of.share)));
  }
  return json;
}

}  // namespace coterie
