// coterie model ab: whether a new version of a model is worse, from what devices got right with both.
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/rollout/rollout_trial.h"
#include "tools/cli/exit_code.h"

namespace coterie {

struct ModelAbOptions {
  std::string file;  // tools/rollout/paired_scores.h
  RolloutSettings settings = {};
  uint32_t null_rollouts = 0;  // of the same devices, with signs by chance: how often they raise an alarm
  uint64_t seed = 1;
  bool as_json = false;
};

// ok: harmless, undecided or open; failure: harmful; usage: the file or a setting.
ExitCode judge_model_ab(const ModelAbOptions& options);

}  // namespace coterie
