#include "fl_server/json/update_norms_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fl_server/json/readable_float.h"
#include "proto/messages/norm_buckets.h"

namespace coterie {

nlohmann::json to_json(const NormHistogram& norms) {
  const auto has_any = [](uint64_t count) { return count > 0; };
  const auto begin = norms.counts.begin();
  const auto first = static_cast<size_t>(std::ranges::find_if(norms.counts, has_any) - begin);
  const auto end =
      static_cast<size_t>(std::find_if(norms.counts.rbegin(), norms.counts.rend(), has_any).base() - begin);
  nlohmann::json edges = nlohmann::json::array(), counts = nlohmann::json::array();
  for (size_t bucket = first; bucket <= end; ++bucket) {
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
