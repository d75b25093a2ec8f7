// The cosines of a round's updates with its step, as JSON.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "proto/messages/cosine_histogram.h"

namespace coterie {

// Shares of the updates that have a cosine, by the names that these cosines have in JSON and as `update_cosine_NAME` in
// curves.
struct CosineShare {
  std::string_view name;
  double share;
};
inline constexpr std::array<CosineShare, 3> kCosineShares = {{{"p10", 0.1}, {"p50", 0.5}, {"p90", 0.9}}};

// {"updates", "undirected", "edges": [...], "counts": [...], "p10", "p50", "p90"}: all buckets, bucket i from edges[i]
// up to and without edges[i + 1], the last with it. Where no update has a cosine there are no p10, p50 and p90.
nlohmann::json to_json(const CosineHistogram& cosines);

}  // namespace coterie
