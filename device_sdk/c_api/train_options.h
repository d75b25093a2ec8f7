// coterie_train_options as the runtime's TrainOptions.
#pragma once

#include <optional>

#include "base/result.h"
#include "coterie_train.h"
#include "device_sdk/runtime/lora.h"
#include "device_sdk/runtime/train_options.h"

namespace coterie {

struct KnownOptions {
  TrainOptions training;
  std::optional<LoraSettings> lora;
  uint64_t memory_budget_bytes = 0;  // 0: none
};

// NULL is all defaults. invalid_argument names the option: an unknown name, an array that is NULL. What the
// runtime checks itself is left to it.
Result<KnownOptions> train_options_of(const coterie_train_options* given);

}  // namespace coterie
