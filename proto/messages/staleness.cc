#include "proto/messages/staleness.h"

#include <cmath>

namespace coterie {

// FedBuff's s(tau) = 1 / sqrt(1 + tau) is exponent 0.5. The round divides by all its weights, as if none were late: by
// K and not by the sum of these (Nguyen et al., "Federated Learning with Buffered Asynchronous Aggregation", 2022).
float staleness_weight(uint64_t versions, const StalenessRules& rules) {
  return static_cast<float>(std::pow(1.0 + static_cast<double>(versions), -static_cast<double>(rules.exponent)));
}

}  // namespace coterie
