// Two ways to compute the same, timed by turns, so that a busy machine is unkind to both.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"

namespace coterie {

// How long `call` takes. Errors: its own.
Result<double> seconds_of(const std::function<Status()>& call);

struct SecondsByTurns {
  double own = 0, other = 0;  // medians
};

// Each of the two so often, at least once. Errors: theirs; cancelled after an interruption.
Result<SecondsByTurns> seconds_by_turns(uint32_t turns, const std::function<Status()>& own,
                                        const std::function<Status()>& other);

}  // namespace coterie
