#include "tools/demo/divergence.h"

#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr uint64_t kPart = 3;  // of the rounds: so long a job may take to be better than a guess

constexpr const char* kAdvice = "; training diverges or stands still: try a smaller --lr";

}  // namespace

std::string divergence_note(const RoundReport& round, uint64_t rounds, const GuessLevel& guess) {
  if (round.state != "done" || round.number < (rounds + kPart - 1) / kPart) return {};
  const std::string after = "worse than a guess after round " + std::to_string(round.number) + ": ";
  if (guess.r2 && round.evaluation_r2 && *round.evaluation_r2 < *guess.r2) {
    return after + "R2 " + format_fixed(*round.evaluation_r2, 3) + ", always saying the mean " +
           format_fixed(*guess.r2, 3) + kAdvice;
  }
  if (!guess.r2 && round.evaluation_accuracy && *round.evaluation_accuracy < guess.accuracy) {
    return after + "accuracy " + format_percent(*round.evaluation_accuracy) +
           ", always saying the most frequent class " + format_percent(guess.accuracy) + kAdvice;
  }
  return {};
}

}  // namespace coterie
