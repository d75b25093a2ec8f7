// coterie model explain --method permutation: which features of a data set a model needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "proto/messages/plan.h"
#include "tools/cli/exit_code.h"

namespace coterie {

inline constexpr const char* kPermutation = "permutation";

struct ImportanceOptions {
  std::string model, data;   // files; of the data also a name that load_data knows
  std::optional<Loss> loss;  // by the data unless given
  uint32_t repeats = 5;      // shuffles of each feature
  uint32_t top = 5;          // features shown
  uint64_t seed = 0;
  bool as_json = false;
};
ExitCode show_importance(const ImportanceOptions& options);

}  // namespace coterie
