// What whoever always says the mean of the training part reaches on the held-out part, where the target is a number.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

struct ContractTarget;

struct MeanBaseline {
  double mae = 0;            // in the target's own unit
  std::optional<double> r2;  // about 0; nothing if all held-out targets are the same
};

// `held_out` is a data set file whose target is the contract's. Errors: malformed.
Result<MeanBaseline> mean_baseline(const ContractTarget& target, const Bytes& held_out);

}  // namespace coterie
