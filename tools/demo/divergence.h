// Divergence: a job that still gets worse answers than a guess does when it should long be better. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/admin/round_report.h"

namespace coterie {

// What whoever looks at no input reaches on the held-out examples.
struct GuessLevel {
  double accuracy = 0;       // always saying the most frequent class; 0: not known
  std::optional<double> r2;  // always saying the mean, where the target is a number
};

// A sentence for a round that is done, of so many, where a third of them is over and its model is worse than a guess;
// else empty.
std::string divergence_note(const RoundReport& round, uint64_t rounds, const GuessLevel& guess);

}  // namespace coterie
