// Paired scores in a file: what devices got right with two versions of a model, a line each.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "scheduler/rollout/rollout_trial.h"

namespace coterie {

// CSV in the order in which devices were heard, with the header device,examples,correct_before,correct_after. A device
// is a name without commas, of at most 128 bytes. Errors name the line: malformed (no such line, a number that is
// none, a last line without a newline: part of it may be still to come), invalid_argument (no examples, more right
// than there are, a device twice).
Result<std::vector<PairedScore>> parse_paired_scores(std::string_view text);

// The same with each device's name, a view of `text`.
struct NamedScore {
  std::string_view device;
  PairedScore score;
};
Result<std::vector<NamedScore>> parse_named_scores(std::string_view text);

}  // namespace coterie
