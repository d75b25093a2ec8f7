// The analytics of a job that asks how much a model needs each column of the data, as `--analytics importance` says it.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/demo/analytics_choice.h"

namespace coterie {

struct AnalyticsSettings;
struct InputContract;

// A column of the job for each of the contract, in its order; of images, and of rows without names, for each value.
// `model`: the file of the evaluated one. invalid_argument: the target has no classes.
Result<AnalyticsSettings> importance_of_columns(const AnalyticsChoice& choice, const InputContract& contract,
                                                const Bytes& model, uint32_t values);

}  // namespace coterie
