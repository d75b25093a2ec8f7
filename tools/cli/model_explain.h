// coterie model explain: why a model answers as it does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/cli/exit_code.h"
#include "tools/explain/attribution.h"

namespace coterie {

inline constexpr uint64_t kExplainedMax = 64;  // examples at a time

struct ExplainOptions {
  std::string model, data;  // files; of the data also a name that load_data knows
  std::string method = "integrated_gradients";
  std::vector<uint64_t> examples;  // counted from 0; empty: the first `limit`
  uint64_t limit = 3;
  std::optional<uint32_t> picked;  // the output that is explained; of each example its highest
  uint32_t top = 5;                // values shown of each
  AttributionSettings settings;
  std::string picture;  // PNG file; empty: none
  std::string run;      // the folder of the run that made the model, which keeps them (explained_run.h); empty: none
  bool checks = false;  // whether the attributions say anything (attribution_checks.h)
  bool as_json = false;
};
// failure: a check does not hold.
ExitCode explain_model(const ExplainOptions& options);

}  // namespace coterie
