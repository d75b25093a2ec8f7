// coterie model inspect --steps: the compiled program of a model file, step by step.
#pragma once

#include <cstdint>
#include <string>

#include "tools/cli/exit_code.h"
#include "tools/model/step_listing.h"

namespace coterie {

struct StepsOptions {
  std::string file;
  uint32_t batch_size = 8;
  bool as_json = false;
};
ExitCode show_steps(const StepsOptions& options);

// At most 80 columns: a line a step, and under it its settings, what it reads and, behind "->", what it makes.
std::string steps_text(const StepListing& listing);

}  // namespace coterie
