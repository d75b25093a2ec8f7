// How long a round's updates were, as JSON.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "proto/messages/norm_histogram.h"

namespace coterie {

// Shares of the updates whose norms are told, by the names that they have in JSON and as `update_norm_NAME` in curves.
struct NormShare {
  std::string_view name;
  double share;
};
inline constexpr std::array<NormShare, 3> kNormShares = {{{"p10", 0.1}, {"p50", 0.5}, {"p90", 0.9}}};

// {"updates", "edges": [...], "counts": [...], "p10", "p50", "p90"}: from the first bucket that has any update to the
// last. Bucket i is from edges[i] up to and without edges[i + 1], which is null where the last has no end.
// Precondition: there are updates.
nlohmann::json to_json(const NormHistogram& norms);

}  // namespace coterie
