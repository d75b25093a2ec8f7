// What the folder of a run says of where a model comes from: `summary.json` as `coterie demo` and `coterie simulate`
// leave it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace coterie {

struct RunFacts {
  std::string model_digest;                                  // empty: the summary names none
  std::string security;                                      // the level; empty likewise
  std::vector<std::pair<std::string, std::string>> job;      // what else is one word or number, as it stands there
  std::vector<std::pair<std::string, std::string>> privacy;  // what the noise came to; empty: there was none
  std::optional<double> epsilon, delta;                      // delta is what epsilon holds at
  std::string ledger_head;                                   // of the privacy ledger when the run ended; or empty

  // What the model is worth to each device on examples of its own, each counting alike, where the run looked.
  struct OwnScores {
    double devices = 0, accuracy = 0, worst_tenth = 0;  // the mean of the tenth that has it worst
  };
  std::optional<OwnScores> own;
};

inline constexpr uint64_t kRunFactsBytesMax = 1 << 20;
inline constexpr size_t kRunFactsMax = 200;  // of each list; the rest is left out

// Paths and times are left out. malformed: it is no JSON object. Pure.
Result<RunFacts> parse_run_facts(std::string_view summary);
// The file that is read of a run's folder.
std::string run_summary_path(const std::string& folder);
// Errors name the file.
Result<RunFacts> read_run_facts(const std::string& folder);

}  // namespace coterie
