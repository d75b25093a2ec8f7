// The analytics of a job that asks where the activations of a model lie, as `--analytics activation_ranges` says it.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/demo/analytics_choice.h"

namespace coterie {

struct AnalyticsSettings;
struct InputContract;

// For every tensor that `coterie model quantise --full` lays a grid over. `file`: the model. `has_noise`: bins are
// wider then, unless said. invalid_argument: the model cannot compute in int8, with the reason.
Result<AnalyticsSettings> ranges_of_model(const AnalyticsChoice& choice, const InputContract& contract,
                                          const Bytes& file, uint32_t values, bool has_noise);

}  // namespace coterie
