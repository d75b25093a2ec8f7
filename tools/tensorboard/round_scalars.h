// What event files say of a round: the words of metrics.csv, in groups.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"

namespace coterie {

class ScalarLog;
struct Evaluation;
struct RoundReport;

// Step 0: the model before training.
Status log_before(ScalarLog& log, const Evaluation& before);

// A round that is done, as the step of its number; nothing of an attempt that failed. `epsilon`: spent by then, if it
// is known. `update_bytes`: of one update; what counted updates took together is told.
Status log_round(ScalarLog& log, const RoundReport& round, std::optional<double> epsilon, uint64_t update_bytes);

}  // namespace coterie
