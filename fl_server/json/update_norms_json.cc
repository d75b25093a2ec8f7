#include "fl_server/json/update_norms_json.h"

#include <nlohmann/json.hpp>

#include "fl_server/json/readable_float.h"
#include "proto/messages/norm_buckets.h"

namespace coterie {

nlohmann::json to_json(const NormHistogram& norms) {
  const auto [begin, end] = used_norm_buckets(norms);
  nlohmann::json edges = nlohmann::json::array(), counts = nlohmann::json::array();
  for (size_t bucket = begin; bucket <= end; ++bucket) {
    if (bucket < kNormBuckets) edges.push_back(readable(static_cast<float>(norm_bucket_begin(bucket))));
    else edges.push_back(nullptr);
    if (bucket < end) counts.push_back(norms.counts[bucket]);
  }
  nlohmann::json json = {{"updates", norms.updates()}, {"edges", std::move(edges)}, {"counts", std::move(counts)}};
  for (const NormShare& of : kNormShares) {
    json[std::string(of.name)] = readable(static_cast<float>(norm_quantile(norms, of.share)));
  }
  return json;
}

}  // namespace coterie
